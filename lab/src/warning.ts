/**
 * One notification when a kernel's memory runs short.
 *
 * Covers: once per rise above the share of the settings; again only after use has clearly fallen below it.
 * Does not cover: acting; that is the guard's, beside the kernel.
 */
import { Notification } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { ILook } from './indicator';
import { kernelId } from './hosts';
import { Settings } from './settings';
import { shareOf, useWords } from './units';

/** So far must use fall below the share before the next warning. */
const HYSTERESIS = 0.05;

/** Remembers which kernels were warned of. */
export class Warnings {
  private readonly _warned = new Set<string>();

  constructor(
    private readonly settings: Settings,
    private readonly trans: TranslationBundle
  ) {}

  /** Look at a kernel's state. */
  look({ host, state }: ILook): void {
    const id = kernelId(host);
    const share = shareOf(state.memory?.used_bytes ?? null, state.memory?.limit_bytes ?? null);
    if (id === null || share === null) {
      return;
    }
    if (share < this.settings.warningShare - HYSTERESIS) {
      this._warned.delete(id);
    } else if (share >= this.settings.warningShare && !this._warned.has(id)) {
      this._warned.add(id);
      this._warn(host.title.label, useWords(state.memory!.used_bytes!, state.memory!.limit_bytes));
    }
  }

  private _warn(name: string, use: string): void {
    Notification.warning(this.trans.__('Memory runs short in %1: %2 in use.', name, use), { autoClose: 10000 });
  }
}
