import type { PatchStep } from '../../crds/rejections/index.js';
import type { Alteration, Warning } from '../../crds/rule/index.js';
import { json, type WholeReply } from '../reply.js';
import { jsonPatch } from './json-patch.js';

/** What a write would come to. Nothing of it was stored. */
export interface Trial {
  readonly dryRun: true;
  readonly change: 'create' | 'update' | 'delete' | 'none';
  /** What would be stored. */
  readonly object: unknown;
  readonly alterations: readonly Alteration[];
  readonly warnings: readonly Warning[];
  /** From what is stored to what would be, as a JSON Patch. */
  readonly diff: readonly PatchStep[];
}

/** A trial before its difference is worked out. */
export interface Tried {
  /** What is stored now; left out when there is nothing. */
  readonly before?: object;
  /** What would be stored; left out when it would be deleted. */
  readonly after?: object;
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
  /** What else is to be said about this kind. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** Answers what a write would come to. */
export function trialReply({ before, after, alterations = [], warnings = [], more }: Tried): WholeReply {
  const diff = jsonPatch(before ?? {}, after ?? {});
  const trial: Trial = {
    dryRun: true,
    change: after ? (before ? (diff.length === 0 ? 'none' : 'update') : 'create') : 'delete',
    object: after ?? null,
    alterations,
    warnings,
    diff,
    ...more,
  };
  return json(200, trial);
}
