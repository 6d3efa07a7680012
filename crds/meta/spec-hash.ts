import { hash } from 'node:crypto';

import stringify from 'safe-stable-stringify';

/** The one text of a document: its keys are sorted, at every depth, and there are no spaces. */
export function toCanonicalText(document: object): string {
  return stringify(document);
}

/** The same for documents that mean the same: key order and spacing do not count. */
export function hashSpec(document: object): string {
  return hashText(toCanonicalText(document));
}

/** The hash of a document whose canonical text is at hand already. */
export function hashText(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}
