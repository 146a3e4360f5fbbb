/**
 * crashcart in JupyterLab: why a kernel died, and its memory against the real limit.
 *
 * Covers: wiring the parts to what the application offers; each part of Lab may be absent.
 * Does not cover: the parts themselves.
 */
import { ILabShell, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette, IWidgetTracker } from '@jupyterlab/apputils';
import { IConsoleTracker } from '@jupyterlab/console';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { Deaths } from './deaths';
import { Host, Hosts } from './hosts';
import { heartIcon } from './icon';
import { MemoryIndicator } from './indicator';
import { Settings } from './settings';
import { Warnings } from './warning';

const ID = 'crashcart:plugin';
const WHY = 'crashcart:why';
const MEMORY = 'crashcart:memory';

const plugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: 'Says why a kernel died, and shows its memory against the real limit.',
  autoStart: true,
  optional: [INotebookTracker, IConsoleTracker, IStatusBar, ISettingRegistry, ICommandPalette, ITranslator, ILabShell],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker | null,
    consoles: IConsoleTracker | null,
    statusBar: IStatusBar | null,
    registry: ISettingRegistry | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null,
    labShell: ILabShell | null
  ): void => {
    const settings = new Settings();
    const known = translator ?? nullTranslator;
    const trackers = [notebooks, consoles].filter(tracker => tracker !== null) as IWidgetTracker<Host>[];
    const hosts = new Hosts(trackers);
    const deaths = new Deaths(app, settings, known, hosts, labShell !== null);
    addWhy(app, palette, known, hosts, deaths);
    if (statusBar !== null) {
      addMemory(app, palette, statusBar, known, hosts, settings);
    }
    registry?.load(ID).then(
      stored => settings.follow(stored),
      error => console.warn('crashcart: the settings could not be read, the defaults hold', error)
    );
  }
};

function addWhy(
  app: JupyterFrontEnd,
  palette: ICommandPalette | null,
  translator: ITranslator,
  hosts: Hosts,
  deaths: Deaths
): void {
  const trans = translator.load('crashcart');
  app.commands.addCommand(WHY, {
    label: trans.__('crashcart: why did the kernel die?'),
    caption: trans.__('Show the verdict on the last death of the kernel of this notebook or console'),
    icon: heartIcon,
    isEnabled: () => hosts.current !== null,
    execute: () => (hosts.current === null ? undefined : deaths.showLast(hosts.current))
  });
  hosts.changed.connect(() => app.commands.notifyCommandChanged(WHY));
  palette?.addItem({ command: WHY, category: trans.__('Kernel Operations') });
}

function addMemory(
  app: JupyterFrontEnd,
  palette: ICommandPalette | null,
  statusBar: IStatusBar,
  translator: ITranslator,
  hosts: Hosts,
  settings: Settings
): void {
  const trans = translator.load('crashcart');
  const indicator = new MemoryIndicator(hosts, settings, trans);
  const warnings = new Warnings(settings, trans);
  indicator.looked.connect((_, look) => warnings.look(look));
  const activeStateChanged = new Signal<MemoryIndicator, void>(indicator);
  hosts.changed.connect(() => activeStateChanged.emit());
  settings.changed.connect(() => activeStateChanged.emit());
  statusBar.registerStatusItem('crashcart:memory', {
    item: indicator,
    align: 'left',
    rank: 2.5,
    isActive: () => settings.indicator && hosts.current !== null,
    activeStateChanged
  });
  app.commands.addCommand(MEMORY, {
    label: trans.__('crashcart: memory of the kernel'),
    isEnabled: () => indicator.isVisible,
    execute: () => indicator.togglePopup()
  });
  palette?.addItem({ command: MEMORY, category: trans.__('Kernel Operations') });
}

export default plugin;
