/**
 * What the status bar shows on click: the curve of the memory, its figures, and what the guard did.
 */
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { IKernelState, IMemory } from './api';
import { drawCurve } from './curve';
import { element, prose } from './dom';
import { shareOf, sizeWords } from './units';

/** The body of the popup. */
export class MemoryPopup extends Widget {
  constructor(private readonly trans: TranslationBundle) {
    super();
    this.addClass('crashcart-Popup');
    this.node.tabIndex = -1;
    this.node.setAttribute('role', 'dialog');
    this.node.setAttribute('aria-label', trans.__('Memory of the kernel'));
  }

  /** Show the state of the kernel; null while it is not known. */
  display(state: IKernelState | null): void {
    this.node.replaceChildren(element('h3', '', this.trans.__('Memory of the kernel')), ...this._content(state));
  }

  private _content(state: IKernelState | null): Node[] {
    if (state === null) {
      return [element('p', '', this.trans.__('It is not known yet.'))];
    }
    if (!state.watched || state.memory === null) {
      return [element('p', '', prose(state.reason ?? this.trans.__('There is no sample yet.')))];
    }
    return [...this._curve(state, state.memory), this._figures(state.memory), ...this._steps(state)];
  }

  private _curve(state: IKernelState, memory: IMemory): Node[] {
    const drawing = drawCurve({
      points: state.history ?? [],
      limitBytes: memory.limit_bytes,
      width: 440,
      height: 170,
      title: this.trans.__('Memory over time'),
      limitWord: this.trans.__('limit'),
      endWord: this.trans.__('now')
    });
    return drawing === null ? [] : [drawing];
  }

  private _figures(memory: IMemory): Node {
    const share = shareOf(memory.used_bytes, memory.limit_bytes);
    const rows: [string, string][] = [
      [this.trans.__('In use, of what counts against the limit'), size(memory.used_bytes)],
      [this.trans.__('Limit'), size(memory.limit_bytes)],
      [this.trans.__('Share of the limit'), share === null ? '–' : `${Math.round(share * 100)} %`],
      [this.trans.__('This kernel with its children'), size(memory.rss_bytes)]
    ];
    return element(
      'dl',
      '',
      rows.flatMap(([name, value]) => [element('dt', '', name), element('dd', '', value)])
    );
  }

  private _steps(state: IKernelState): Node[] {
    const rows = state.guard.map(step => {
      const at = new Date(step.at_unix_s * 1000).toLocaleTimeString();
      return element('li', '', [element('time', '', at), document.createTextNode(` ${step.text}`)]);
    });
    if (rows.length === 0) {
      return [element('p', 'crashcart-mod-soft', this.trans.__('The guard has done nothing so far.'))];
    }
    return [element('h4', '', this.trans.__('The guard')), element('ul', '', rows.reverse())];
  }
}

function size(bytes: number | null): string {
  return bytes === null ? '–' : sizeWords(bytes);
}
