/**
 * Elements of the page. Text is only ever set as text: what programs print is never read as HTML.
 */

/** An element with a class, text and children. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className = '',
  content: string | Node[] = []
): HTMLElementTagNameMap[Name] {
  const node = document.createElement(name);
  node.className = className;
  if (typeof content === 'string') {
    node.textContent = content;
  } else {
    node.append(...content);
  }
  return node;
}

/** A list of sentences. */
export function list(kind: 'ul' | 'ol', className: string, sentences: string[]): HTMLElement {
  return element(
    kind,
    className,
    sentences.map(sentence => element('li', '', prose(sentence)))
  );
}

/** A sentence in which `backquotes` set code. */
export function prose(sentence: string): Node[] {
  const pieces = sentence.split('`');
  if (pieces.length % 2 === 0) {
    return [document.createTextNode(sentence)];
  }
  return pieces.map((piece, index) => (index % 2 ? element('code', '', piece) : document.createTextNode(piece)));
}

/** A button in the style of Lab's own. */
export function button(label: string, className: string, onClick: () => void): HTMLButtonElement {
  const node = element('button', `jp-mod-styled ${className}`, label);
  node.type = 'button';
  node.addEventListener('click', onClick);
  return node;
}

/** A headline as the beginning of a sentence. */
export function capitalised(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
