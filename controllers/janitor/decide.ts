import {
  isRotationOpen,
  readRotationState,
  type RotationProgress,
  type RotationRecord,
} from '../../crds/rotation/index.js';
import { type IntentWrite, isAmong, type SecretIntent } from '../../pkg/material/index.js';

/** No request takes longer. */
const REQUEST_MAX_MS = 60_000;

/** A rotation of the tenant, with the progress that is stored for its credential. */
export interface RotationWithProgress {
  readonly record: RotationRecord;
  readonly progress: RotationProgress | undefined;
}

/**
 * How long the request of an intent may still be running; 0 or less when it has ended.
 *
 * Ages are of wall clocks, which may differ. That is safe: a request whose intent is finished too early fails its
 * guard and starts again.
 */
export function computeRemainingMs({ at }: SecretIntent, now: number): number {
  return REQUEST_MAX_MS - (now - Date.parse(at));
}

/** Whether a request that may still be running was promised a version of the same number: whose it is will show. */
export function isContested({ writes }: SecretIntent, others: readonly SecretIntent[]): boolean {
  return others.some(other => other.state === 'writing' && other.writes.some(write => isAmong(write, writes)));
}

/**
 * The versions that belong to others and must not be destroyed: those that other intents have stored, and those that open
 * rotations have staged. A rotation that has ended needs no version any more.
 */
export function listClaimed(
  others: readonly SecretIntent[],
  rotations: readonly RotationWithProgress[],
): readonly IntentWrite[] {
  const stored = others.filter(({ state }) => state === 'stored').flatMap(({ writes }) => writes);
  const staged = rotations
    .filter(({ record, progress }) => progress?.id === record.id && progress.staged)
    .filter(({ record, progress }) => isRotationOpen(readRotationState(record, progress)))
    .map(({ record }) => ({ path: record.path, version: record.to }));
  return [...stored, ...staged];
}
