import { FieldPath } from '../grammar/index.js';
import { type Rejection, reject } from '../rejections/index.js';

/** Where a record may hold the description of a workload. */
const HOLDERS = ['spec', 'template'] as const;

const CODES = { values: 'secret_material_would_persist', generate: 'secret_generate_would_persist' } as const;

/**
 * The last gate before a record is stored: whatever path led here, it may hold references to secrets and no material.
 *
 * Looks at `secrets` of the record itself and of the spec or template inside it.
 */
export function guardPersisted(record: unknown): Rejection | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const fields = record as Readonly<Record<string, unknown>>;
  return guardEntries(fields['secrets']) ?? first(HOLDERS.map(holder => guardPersisted(fields[holder])));
}

function guardEntries(secrets: unknown): Rejection | undefined {
  if (!Array.isArray(secrets)) return undefined;
  for (const [position, entry] of secrets.entries()) {
    if (typeof entry !== 'object' || entry === null) continue;
    for (const part of ['values', 'generate'] as const) {
      const value = (entry as Readonly<Record<string, unknown>>)[part];
      const at = FieldPath.root.child('secrets').index(position).child(part);
      if (value !== undefined) return reject(CODES[part], at, value);
    }
  }
  return undefined;
}

function first(found: readonly (Rejection | undefined)[]): Rejection | undefined {
  return found.find(rejection => rejection !== undefined);
}
