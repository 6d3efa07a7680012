import { hash } from 'node:crypto';

import stringify from 'safe-stable-stringify';

const texts = new WeakMap<object, string>();

/**
 * The one text of a document: its keys are sorted, at every depth, and there are no spaces. Kept for as long as the
 * document is, which must not change meanwhile: what is hashed, stored and archived is then written once.
 */
export function canonicalText(document: object): string {
  const known = texts.get(document);
  if (known !== undefined) return known;
  const text = stringify(document);
  texts.set(document, text);
  return text;
}

/** The same for documents that mean the same: key order and spacing do not count. */
export function specHash(document: object): string {
  return hash('sha256', canonicalText(document), 'hex').slice(0, 32);
}
