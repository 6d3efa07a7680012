import type { SecretState } from './secret-store.js';

/**
 * The versions of one credential, as both drivers store them.
 *
 * Containers get the highest readable version, unless `pin` names another: so a pending version stays pending and a
 * rotation can be aborted. Nothing is pinned outside a rotation.
 */
export interface Versions {
  readonly last: number;
  /** The readable versions, in ascending order. */
  readonly live: readonly number[];
  /** The current version, when it is not the highest; 0 when none is current yet. */
  readonly pin?: number;
}

/** Before the first write. */
export const noVersions: Versions = { last: 0, live: [] };

export function toSecretState({ last, live, pin }: Versions): SecretState {
  const current = pin !== undefined && (pin === 0 || live.includes(pin)) ? pin : (live.at(-1) ?? 0);
  const pending = live.findLast(version => version > current);
  const previous = live.findLast(version => version < current);
  return {
    last,
    ...(current > 0 && { current }),
    ...(pending !== undefined && { pending }),
    ...(previous !== undefined && { previous }),
  };
}

/** Adds the next version, current or pending. */
export function addVersion(versions: Versions, as: 'current' | 'pending'): Versions {
  const next = versions.last + 1;
  const current = as === 'current' ? next : (toSecretState(versions).current ?? 0);
  return setCurrent({ last: next, live: [...versions.live, next] }, current);
}

/** Changes the current version, which must be live, or 0 for none. */
export function setCurrent({ last, live }: Versions, current: number): Versions {
  return current === live.at(-1) ? { last, live } : { last, live, pin: current };
}

export function removeVersion(versions: Versions, version: number): Versions {
  const { current } = toSecretState(versions);
  const live = versions.live.filter(other => other !== version);
  const left = { last: versions.last, live };
  return current === version || live.length === 0 ? left : setCurrent(left, current ?? 0);
}

/** The oldest versions beyond `keep`, except those that a rotation needs. */
export function findSurplus(versions: Versions, keep: number): readonly number[] {
  const { current, pending, previous } = toSecretState(versions);
  const spare = versions.live.filter(version => version !== current && version !== pending && version !== previous);
  return spare.slice(0, Math.max(0, versions.live.length - keep));
}
