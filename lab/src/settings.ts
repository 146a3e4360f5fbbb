/**
 * The user's settings, checked, with their defaults where Lab has no settings at all.
 */
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ISignal, Signal } from '@lumino/signaling';

/** From this share on the memory is shown as an alarm; the guard acts at 94 % at the earliest. */
export const ALARM_SHARE = 0.92;

/** The settings as they are now. */
export class Settings {
  indicator = true;
  pollSeconds = 2;
  warningShare = 0.8;
  openPanel = true;

  private readonly _changed = new Signal<this, void>(this);

  /** Some setting is another now. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Follow what the settings editor says. */
  follow(stored: ISettingRegistry.ISettings): void {
    const read = () => {
      this.indicator = stored.get('indicator').composite !== false;
      this.openPanel = stored.get('openPanel').composite !== false;
      this.pollSeconds = within(stored.get('pollSeconds').composite, 1, 60, 2);
      this.warningShare = within(stored.get('warningShare').composite, 0.3, 0.99, 0.8);
      this._changed.emit();
    };
    stored.changed.connect(read);
    read();
  }
}

function within(value: unknown, least: number, most: number, otherwise: number): number {
  return typeof value === 'number' && value >= least && value <= most ? value : otherwise;
}
