/**
 * Words for screen readers.
 */
import { element } from './dom';

let region: HTMLElement | null = null;

/** Say something at once, whatever has the focus. */
export function announce(words: string): void {
  if (region === null) {
    region = element('div', 'crashcart-Announcement');
    region.setAttribute('role', 'alert');
    region.setAttribute('aria-live', 'assertive');
    document.body.append(region);
  }
  const here = region;
  here.textContent = '';
  // A region is read when it changes: the same words twice are two deaths.
  window.setTimeout(() => (here.textContent = words), 50);
}
