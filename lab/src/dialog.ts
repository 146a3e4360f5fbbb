/**
 * Lab's own dialog about a kernel that died, with the verdict added.
 *
 * Covers: finding the dialog by its words, adding ours, a way from it to the panel. Where Lab shows no such dialog, or one
 * with other words, nothing happens.
 * Does not cover: the dialog's own text and button, which stay as they are.
 */
import { Dialog } from '@jupyterlab/apputils';
import { ITranslator } from '@jupyterlab/translation';
import { button, element } from './dom';

const NOTE = 'crashcart-DialogNote';

/** The dialog about the death of the kernel of one document. */
export class DeathDialog {
  constructor(
    private readonly path: string,
    private readonly translator: ITranslator
  ) {}

  /** Put words below the dialog's own, in place of those that were put there before. */
  say(words: string): void {
    const note = this._note();
    note?.replaceChildren(element('span', '', words));
  }

  /** Put the verdict there, and a button that leads to all of it. */
  tell(headline: string, place: string, label: string, onShow: () => void): void {
    const show = button(label, 'jp-mod-accept', () => {
      this._find()?.resolve();
      onShow();
    });
    this._note()?.replaceChildren(element('strong', '', headline), element('span', '', place), show);
  }

  /** Take our words away again. */
  forget(): void {
    this._find()?.node.querySelector(`.${NOTE}`)?.remove();
  }

  private _note(): HTMLElement | null {
    const body = this._find()?.node.querySelector('.jp-Dialog-body');
    if (!body) {
      return null;
    }
    const known = body.querySelector<HTMLElement>(`.${NOTE}`);
    if (known !== null) {
      return known;
    }
    const note = element('div', NOTE);
    body.append(note);
    return note;
  }

  private _find(): Dialog<unknown> | undefined {
    const words = this.translator
      .load('jupyterlab')
      .__('The kernel for %1 appears to have died. It will restart automatically.', this.path);
    return Dialog.tracker?.find(
      dialog => !dialog.isDisposed && (dialog.node.querySelector('.jp-Dialog-body')?.textContent ?? '').includes(words)
    );
  }
}
