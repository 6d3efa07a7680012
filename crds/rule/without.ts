import type { FieldPath } from '../grammar/index.js';

type Holder = Record<string | number, unknown>;

/**
 * A copy of a document without the values at the given places, sharing everything else with it.
 *
 * A list that has such an entry is left out whole, because its other entries would move.
 */
export function omitPaths(document: Readonly<Record<string, unknown>>, places: readonly FieldPath[]): Holder {
  const root: Holder = { ...document };
  const copies = new WeakSet<object>();
  for (const { parts } of places) {
    let holder = root;
    for (const [depth, part] of parts.entries()) {
      const child = holder[part];
      const isLast = depth === parts.length - 1 || (Array.isArray(child) && depth === parts.length - 2);
      if (isLast || typeof child !== 'object' || child === null) {
        delete holder[part];
        break;
      }
      holder[part] = copies.has(child) ? child : copyOf(child);
      holder = holder[part] as Holder;
      copies.add(holder);
    }
  }
  return root;
}

function copyOf(value: object): object {
  return Array.isArray(value) ? [...(value as unknown[])] : { ...value };
}
