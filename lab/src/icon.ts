/**
 * The mark of crashcart, in the colours of the theme.
 */
import { LabIcon } from '@jupyterlab/ui-components';

export const heartIcon = new LabIcon({
  name: 'crashcart:icon',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 32 32"><path class="jp-icon3" ' +
    'd="M2 15.5h8.2l2.9-8.6 5.3 16.6 4-10.5 1.6 2.5H30v2.6h-7.4l-.6-1-3.8 10-5.2-16.2-1 3.2H2z" fill="#616161"/></svg>'
});
