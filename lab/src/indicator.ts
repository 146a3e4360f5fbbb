/**
 * The memory of the current kernel in the status bar.
 *
 * Covers: asking while it is visible and the tab is, words and colour, the popup on click.
 * Does not cover: the notification when memory runs short (`warning.ts`).
 */
import { showPopup, Popup } from '@jupyterlab/statusbar';
import { TranslationBundle } from '@jupyterlab/translation';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';
import { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { IKernelState, kernelState, ServerPartMissing } from './api';
import { element } from './dom';
import { Host, Hosts, kernelId } from './hosts';
import { MemoryPopup } from './popup';
import { ALARM_SHARE, Settings } from './settings';
import { shareOf, useWords } from './units';

const MOST_SECONDS = 60;

/** What was learned of the kernel of a host. */
export interface ILook {
  host: Host;
  state: IKernelState;
}

/** The item of the status bar. */
export class MemoryIndicator extends Widget {
  private readonly _poll: Poll<void>;
  private readonly _looked = new Signal<this, ILook>(this);
  private _state: IKernelState | null = null;
  private _popup: Popup | null = null;
  private _body: MemoryPopup | null = null;

  constructor(
    private readonly hosts: Hosts,
    private readonly settings: Settings,
    private readonly trans: TranslationBundle
  ) {
    super({ node: element('button', 'crashcart-Memory') });
    (this.node as HTMLButtonElement).type = 'button';
    this.node.addEventListener('click', () => this.togglePopup());
    this._poll = new Poll({
      auto: false,
      name: 'crashcart:memory',
      factory: () => this._look(),
      frequency: this._frequency(),
      standby: 'when-hidden',
      linger: 0
    });
    hosts.changed.connect(() => this._turn());
    settings.changed.connect(() => (this._poll.frequency = this._frequency()));
    this._show(null);
  }

  /** The kernel's state was asked for and answered. */
  get looked(): ISignal<this, ILook> {
    return this._looked;
  }

  /** Open the history, or close it. */
  togglePopup(): void {
    if (this._popup !== null && !this._popup.isDisposed) {
      this._popup.dispose();
      return;
    }
    const body = new MemoryPopup(this.trans);
    body.display(this._state);
    body.disposed.connect(() => (this._body = null));
    this._body = body;
    this._popup = showPopup({ body, anchor: this, align: 'left', hasDynamicSize: true });
    body.node.focus();
    void this._poll.refresh();
  }

  override dispose(): void {
    this._poll.dispose();
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._run();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this._run();
  }

  protected override onAfterHide(message: Message): void {
    super.onAfterHide(message);
    this._run();
  }

  protected override onBeforeDetach(message: Message): void {
    void this._poll.stop();
    super.onBeforeDetach(message);
  }

  private _run(): void {
    void (this.isVisible ? this._poll.start() : this._poll.stop());
  }

  private _frequency(): { interval: number; backoff: number; max: number } {
    return { interval: this.settings.pollSeconds * 1000, backoff: 2, max: MOST_SECONDS * 1000 };
  }

  private _turn(): void {
    this._show(null);
    if (this.isVisible) {
      void this._poll.refresh();
    }
  }

  private async _look(): Promise<void> {
    const host = this.hosts.current;
    const id = kernelId(host);
    if (host === null || id === null) {
      this._show(null);
      return;
    }
    try {
      const state = await kernelState(id, this._body !== null);
      if (kernelId(this.hosts.current) === id && !this.isDisposed) {
        this._show(state);
        this._looked.emit({ host, state });
      }
    } catch (error) {
      this._show(unanswered(error, this.trans));
      throw error; // the poll waits longer before the next question
    }
  }

  private _show(state: IKernelState | null): void {
    this._state = state;
    const share = shareOf(state?.memory?.used_bytes ?? null, state?.memory?.limit_bytes ?? null);
    this.node.textContent = words(state, this.trans);
    this.node.dataset.level = level(share, this.settings.warningShare);
    this.title.caption = this.node.title = tooltip(state, share, this.trans);
    this.node.setAttribute('aria-label', `${this.node.textContent}. ${this.node.title}`);
    this._body?.display(state);
  }
}

/** normal, warning or alarm. */
export function level(share: number | null, warningShare: number): string {
  if (share === null || share < warningShare) {
    return 'normal';
  }
  return share < Math.max(ALARM_SHARE, warningShare) ? 'warning' : 'alarm';
}

function words(state: IKernelState | null, trans: TranslationBundle): string {
  if (state !== null && !state.watched && !state.ended) {
    return trans.__('Not watched');
  }
  const memory = state?.memory;
  if (!memory || memory.used_bytes === null) {
    return trans.__('Mem …');
  }
  return trans.__('Mem %1', useWords(memory.used_bytes, memory.limit_bytes));
}

function tooltip(state: IKernelState | null, share: number | null, trans: TranslationBundle): string {
  if (state === null || !state.watched) {
    return state?.reason ?? trans.__('The memory of the kernel is not known yet.');
  }
  const used = share === null ? '' : trans.__('%1 % of the memory limit of this kernel is in use. ', Math.round(share * 100));
  return used + trans.__('Click for its history and what the guard did.');
}

/** A state that says why there is none. */
function unanswered(error: unknown, trans: TranslationBundle): IKernelState {
  const reason =
    error instanceof ServerPartMissing
      ? trans.__(
          'The Jupyter server has no crashcart. Install crashcart[jupyter] where `jupyter lab` runs, and start it again.'
        )
      : trans.__('The Jupyter server does not answer: %1', error instanceof Error ? error.message : String(error));
  return { watched: false, ended: false, reason, now_unix_s: 0, memory: null, guard: [], deaths: [] };
}
