/**
 * The widgets that have a kernel: notebooks and consoles.
 *
 * Covers: each one as it opens, and the one that was used last.
 * Does not cover: their kernels' state (`indicator.ts`, `deaths.ts`).
 */
import { ISessionContext, IWidgetTracker } from '@jupyterlab/apputils';
import { ISignal, Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

/** A notebook or a console. */
export type Host = Widget & { readonly sessionContext: ISessionContext };

/** All notebooks and consoles of this window. */
export class Hosts {
  private readonly _changed = new Signal<this, void>(this);
  private readonly _added = new Signal<this, Host>(this);
  private _current: Host | null = null;

  constructor(private readonly trackers: IWidgetTracker<Host>[]) {
    for (const tracker of trackers) {
      tracker.forEach(host => this._take(host));
      tracker.widgetAdded.connect((_, host) => this._take(host));
      tracker.currentChanged.connect((_, host) => this._turnTo(host ?? this._any()));
      this._turnTo(tracker.currentWidget ?? this._current);
    }
  }

  /** The one that was used last, while it is open. */
  get current(): Host | null {
    return this._current;
  }

  /** The current one, or its kernel, is another now. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** One was opened; those that were open before are told of through `all`. */
  get added(): ISignal<this, Host> {
    return this._added;
  }

  /** All that are open. */
  all(): Host[] {
    const found: Host[] = [];
    this.trackers.forEach(tracker => tracker.forEach(host => found.push(host)));
    return found;
  }

  private _take(host: Host): void {
    host.sessionContext.kernelChanged.connect(() => this._isCurrent(host) && this._changed.emit());
    host.disposed.connect(() => this._isCurrent(host) && this._turnTo(this._any()));
    this._added.emit(host);
  }

  private _isCurrent(host: Host): boolean {
    return this._current === host;
  }

  private _turnTo(host: Host | null): void {
    if (this._current !== host) {
      this._current = host;
      this._changed.emit();
    }
  }

  private _any(): Host | null {
    const open = this.all().filter(host => !host.isDisposed);
    return open.find(host => host === this._current) ?? open[0] ?? null;
  }
}

/** The id of the kernel; null while there is none. */
export function kernelId(host: Host | null): string | null {
  return host?.sessionContext.session?.kernel?.id ?? null;
}
