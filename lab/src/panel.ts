/**
 * The verdict on one death.
 *
 * Covers: headline, place, facts, what to try, the curve of the memory, and the whole report as a page of its own that may
 * run no script and reach nothing.
 * Does not cover: where the panel is put, and when (`deaths.ts`).
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { IDeathReport, IFinding, IWhere } from './api';
import { drawCurve } from './curve';
import { button, capitalised, element, list } from './dom';
import { heartIcon } from './icon';

/** What the panel needs from outside. */
export interface IVerdictOptions {
  report: IDeathReport;
  /** The name of the notebook or console. */
  subject: string;
  /** Leads to the cell; null where it is not to be found. */
  onShowCell: (() => void) | null;
  trans: TranslationBundle;
}

/** The content of the panel. */
export class VerdictPanel extends Widget {
  constructor(private readonly options: IVerdictOptions) {
    super();
    const { trans, subject } = options;
    this.addClass('crashcart-Verdict');
    this.title.label = trans.__('Why: %1', subject);
    this.title.icon = heartIcon;
    this.title.closable = true;
    this.node.tabIndex = 0;
    const finding: IFinding | undefined = options.report.document.findings[0];
    this.title.caption = finding?.headline ?? '';
    this.node.append(...(finding ? this._verdict(finding) : [this._nothing()]), ...this._page());
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    // Not earlier: the frame that Lab puts around calls it "main area content".
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', this.options.trans.__('Why the kernel of %1 died', this.options.subject));
  }

  protected override onActivateRequest(message: Message): void {
    super.onActivateRequest(message);
    this.node.focus();
  }

  private _nothing(): Node {
    return element('p', '', this.options.trans.__('The recording shows no cause; the full report has all that is known.'));
  }

  private _verdict(finding: IFinding): Node[] {
    const { trans } = this.options;
    const badges = element('p', 'crashcart-Badges', [
      element('span', `crashcart-mod-${safeWord(finding.confidence)}`, finding.confidence),
      element('span', '', finding.cause)
    ]);
    const columns = element('div', 'crashcart-Columns', [
      element('div', '', [
        ...this._section(trans.__('Because'), list('ul', '', finding.because)),
        ...this._section(trans.__('Held the memory'), list('ul', '', finding.held ?? [])),
        ...this._section(trans.__('Try'), list('ol', '', finding.remedy))
      ]),
      element('div', '', this._curve())
    ]);
    return [element('h2', '', capitalised(finding.headline)), badges, ...this._place(finding.where ?? null), columns];
  }

  private _section(name: string, content: HTMLElement): Node[] {
    return content.childNodes.length > 0 ? [element('h3', '', name), content] : [];
  }

  private _place(where: IWhere | null): Node[] {
    const words = placeWords(where, this.options.trans);
    if (words === '') {
      return [];
    }
    const row = element('div', 'crashcart-Place', [element('span', '', words)]);
    if (where?.age_s) {
      const age = this.options.trans.__('seen %1 s before the end', where.age_s.toFixed(1));
      row.append(element('span', 'crashcart-mod-soft', age));
    }
    if (where?.source) {
      row.append(element('code', '', where.source.trim()));
    }
    if (this.options.onShowCell !== null) {
      row.append(button(this.options.trans.__('Go to the cell'), 'jp-mod-accept', this.options.onShowCell));
    }
    return [row];
  }

  private _curve(): Node[] {
    const { report, trans } = this.options;
    const drawing = drawCurve({
      points: report.history,
      limitBytes: report.limit_bytes,
      width: 520,
      height: 190,
      title: trans.__('Memory until the end'),
      limitWord: trans.__('limit'),
      endWord: trans.__('the end')
    });
    return drawing === null ? [] : [element('h3', '', trans.__('Memory until the end')), drawing];
  }

  /** The whole report. The frame may run nothing; it is filled when it is opened. */
  private _page(): Node[] {
    const { report, trans } = this.options;
    const details = element('details', '', [element('summary', '', trans.__('The full report'))]);
    details.addEventListener('toggle', () => {
      if (details.open && details.querySelector('iframe') === null) {
        details.append(frame(report.html, trans.__('The full report')));
      }
    });
    return [details];
  }
}

/** The place in words, as in "cell [7], line 3". */
export function placeWords(where: IWhere | null, trans: TranslationBundle): string {
  const line = where?.line ?? null;
  if (where?.cell !== null && where?.cell !== undefined) {
    return line === null ? trans.__('cell [%1]', where.cell) : trans.__('cell [%1], line %2', where.cell, line);
  }
  if (!where?.file) {
    return '';
  }
  return line === null ? where.file : trans.__('%1, line %2', where.file, line);
}

function frame(html: string, title: string): HTMLIFrameElement {
  const node = element('iframe');
  node.setAttribute('sandbox', '');
  node.title = title;
  node.srcdoc = themed(html);
  return node;
}

/** The page follows the browser's preference by itself; here it follows Lab's theme. */
function themed(html: string): string {
  const isDark = document.body.dataset.jpThemeLight === 'false';
  return html.replace('@media (prefers-color-scheme: dark)', `@media ${isDark ? 'all' : 'not all'}`);
}

function safeWord(word: string): string {
  return /^[a-z]+$/.test(word) ? word : 'unknown';
}
