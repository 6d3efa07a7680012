import type { WorkloadFacts } from './context.js';

/** An entry as far as it brings material; every part may be anything. */
export interface EntryMaterial {
  readonly vault_path?: unknown;
  readonly values?: unknown;
  readonly generate?: unknown;
}

/** The parts of an entry that would be written. Keys that have a value are not generated again. */
export function listMaterial(
  { vault_path: path, values, generate }: EntryMaterial,
  { secretKeys }: Pick<WorkloadFacts, 'secretKeys'>,
): readonly ('values' | 'generate')[] {
  const existing = secretKeys[String(path)] ?? [];
  const { keys } = (generate ?? {}) as { readonly keys?: unknown };
  const mints = Array.isArray(keys) && keys.some(key => !existing.includes(String(key)));
  return [...(values === undefined ? [] : (['values'] as const)), ...(mints ? (['generate'] as const) : [])];
}
