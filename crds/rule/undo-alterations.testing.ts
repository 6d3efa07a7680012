import type { Alteration } from './rule.js';

type Holder = Record<string, unknown>;

/** What was sent, from what is stored: every alteration taken back. */
export function undoAlterations(stored: object, alterations: readonly Alteration[]): Holder {
  const document = structuredClone(stored) as Holder;
  for (const { field, from } of alterations.toReversed()) put(document, field, from);
  return document;
}

/** Puts `value` where `field` says; null takes it away. */
function put(document: Holder, field: string, value: unknown): void {
  const parts = field.replaceAll(/\[(\d+)\]/g, '.$1').split('.');
  const last = parts.pop()!;
  const holder = parts.reduce((at, part) => at[part] as Holder, document);
  if (value === null) delete holder[last];
  else holder[last] = value;
}
