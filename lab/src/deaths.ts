/**
 * When a kernel dies: find out why, and show it.
 *
 * Covers: noticing deaths that nobody asked for, fetching the verdict (the recording may take a moment to be finished), the
 * panel below the notebook, Lab's own dialog, words for screen readers, and showing the last death again.
 * Does not cover: judging, which the server part does.
 */
import { JupyterFrontEnd } from '@jupyterlab/application';
import { ISessionContext, MainAreaWidget, Notification } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { Kernel } from '@jupyterlab/services';
import { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { announce } from './announce';
import { deathReport, IDeath, IDeathReport, IKernelState, kernelState, ServerPartMissing } from './api';
import { findCell, markCell, showCell } from './cells';
import { DeathDialog } from './dialog';
import { capitalised } from './dom';
import { Host, Hosts, kernelId } from './hosts';
import { placeWords, VerdictPanel } from './panel';
import { Settings } from './settings';

const PATIENCE_MS = 3000;
const AGAIN_MS = 200;
/** Jupyter notices a death within some seconds; an older one was noticed before. */
const FRESH_S = 60;

type Panel = MainAreaWidget<VerdictPanel>;

/** Follows all notebooks and consoles. */
export class Deaths {
  private readonly _trans: TranslationBundle;
  private readonly _panels = new Map<string, Panel>();
  private readonly _told = new WeakMap<Host, Set<string>>();

  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly settings: Settings,
    private readonly translator: ITranslator,
    hosts: Hosts,
    private readonly hasSplits: boolean
  ) {
    this._trans = translator.load('crashcart');
    hosts.all().forEach(host => this._follow(host));
    hosts.added.connect((_, host) => this._follow(host));
  }

  /** Show the last death of the host's kernel, or say that none is known. */
  async showLast(host: Host): Promise<void> {
    const id = kernelId(host);
    try {
      const death = id === null ? undefined : (await kernelState(id)).deaths[0];
      if (id === null || death === undefined) {
        Notification.info(this._trans.__('No death of this kernel is known.'), { autoClose: 5000 });
        return;
      }
      this._activate(await this._panel(host, id, death));
    } catch (error) {
      Notification.error(this._trans.__('crashcart: %1', String(error)), { autoClose: 8000 });
    }
  }

  private _follow(host: Host): void {
    let id = kernelId(host);
    host.sessionContext.kernelChanged.connect(() => (id = kernelId(host) ?? id));
    host.sessionContext.statusChanged.connect((_: ISessionContext, status: Kernel.Status) => {
      id = kernelId(host) ?? id;
      if (id !== null && (status === 'autorestarting' || status === 'dead')) {
        void this._notice(host, id);
      }
    });
  }

  private async _notice(host: Host, id: string): Promise<void> {
    const dialog = new DeathDialog(host.sessionContext.session?.path ?? host.sessionContext.path, this.translator);
    dialog.say(this._trans.__('crashcart is looking for the cause…'));
    try {
      const death = await this._await(host, id);
      if (death === null) {
        dialog.forget();
      } else {
        await this._tell(host, id, death, dialog);
      }
    } catch (error) {
      dialog.forget();
      console.warn('crashcart: the cause of the death could not be asked for', error);
    }
  }

  /** The death that was just noticed. The watcher writes it down at once, but Jupyter may have been quicker. */
  private async _await(host: Host, id: string): Promise<IDeath | null> {
    const told = this._told.get(host) ?? new Set<string>();
    this._told.set(host, told);
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      const state = await answered(kernelState(id));
      const death = state?.deaths.find(each => !told.has(each.recording) && isFresh(each, state));
      if (death) {
        told.add(death.recording);
        return death;
      }
      if (state === null || Date.now() > until) {
        return null;
      }
      await new Promise(resolve => window.setTimeout(resolve, AGAIN_MS));
    }
  }

  private async _tell(host: Host, id: string, death: IDeath, dialog: DeathDialog): Promise<void> {
    const headline = capitalised(death.headline ?? this._trans.__('the kernel died'));
    const place = placeWords(death, this._trans);
    announce([this._trans.__('The kernel of %1 died.', host.title.label), headline, place].join(' '));
    dialog.tell(headline, place, this._trans.__('Show why'), () => void this.showDeath(host, id, death));
    if (this.settings.openPanel) {
      await this._panel(host, id, death);
    }
  }

  /** Show the panel of a death, and go there. */
  async showDeath(host: Host, id: string, death: IDeath): Promise<void> {
    this._activate(await this._panel(host, id, death));
  }

  private async _panel(host: Host, id: string, death: IDeath): Promise<Panel> {
    const known = this._panels.get(death.recording);
    if (known) {
      return known;
    }
    const report = await deathReport(id, death.recording);
    const opened = this._panels.get(death.recording); // another notebook of the same kernel was quicker
    return opened ?? this._open(host, death.recording, report);
  }

  private _open(host: Host, recording: string, report: IDeathReport): Panel {
    const where = report.document.findings[0]?.where ?? null;
    const cell = where === null ? null : findCell(host, where);
    const unmark = cell === null ? () => undefined : markCell(cell);
    const content = new VerdictPanel({
      report,
      subject: PathExt.basename(host.sessionContext.path) || host.title.label,
      onShowCell: cell === null ? null : () => void this._showCell(host, () => showCell(host, cell, where?.line ?? null)),
      trans: this._trans
    });
    const panel = new MainAreaWidget({ content });
    panel.id = `crashcart-verdict-${recording}`;
    panel.toolbar.hide();
    panel.disposed.connect(() => {
      this._panels.delete(recording);
      unmark();
    });
    this._panels.set(recording, panel);
    this._place(host, panel);
    return panel;
  }

  /** Below the notebook; in applications without splits (Notebook), in the area below the one document. */
  private _place(host: Host, panel: Panel): void {
    if (this.hasSplits) {
      this.app.shell.add(panel, 'main', { mode: 'split-bottom', ref: host.id, activate: false });
    } else {
      this.app.shell.add(panel, 'down');
      this.app.shell.activateById(panel.id);
    }
  }

  private async _showCell(host: Host, show: () => Promise<void>): Promise<void> {
    this.app.shell.activateById(host.id);
    await show();
  }

  private _activate(panel: Panel): void {
    this.app.shell.activateById(panel.id);
  }
}

/** The answer; null from a server without crashcart. */
async function answered(question: Promise<IKernelState>): Promise<IKernelState | null> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof ServerPartMissing) {
      return null;
    }
    throw error;
  }
}

function isFresh(death: IDeath, state: IKernelState): boolean {
  return death.at_unix_s !== null && state.now_unix_s - death.at_unix_s < FRESH_S;
}
