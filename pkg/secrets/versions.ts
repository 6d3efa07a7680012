import type { SecretState } from './secret-store.js';

/**
 * The versions of one credential, as both drivers keep them.
 *
 * Containers get the highest readable version, unless `pin` names another: that is how a pending version stays pending
 * and how a rotation is turned back. Nothing is pinned outside a rotation.
 */
export interface Versions {
  readonly last: number;
  /** Those that can be read, rising. */
  readonly live: readonly number[];
  /** The current version, when it is not the highest; 0 when none is current yet. */
  readonly pin?: number;
}

/** Before the first write. */
export const noVersions: Versions = { last: 0, live: [] };

/** What the versions mean for readers and for a rotation. */
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

/** With one more version, current or pending. */
export function addVersion(versions: Versions, as: 'current' | 'pending'): Versions {
  const next = versions.last + 1;
  const current = as === 'current' ? next : (toSecretState(versions).current ?? 0);
  return pinned({ last: next, live: [...versions.live, next] }, current);
}

/** With another version as the current one. It must be live. */
export function setCurrent({ last, live }: Versions, current: number): Versions {
  return pinned({ last, live }, current);
}

/** Without one version. */
export function removeVersion(versions: Versions, version: number): Versions {
  const { current } = toSecretState(versions);
  const live = versions.live.filter(other => other !== version);
  const left = { last: versions.last, live };
  return current === version || live.length === 0 ? left : pinned(left, current ?? 0);
}

/** The oldest versions beyond `keep`, never one that a rotation needs. */
export function findSurplus(versions: Versions, keep: number): readonly number[] {
  const { current, pending, previous } = toSecretState(versions);
  const spare = versions.live.filter(version => version !== current && version !== pending && version !== previous);
  return spare.slice(0, Math.max(0, versions.live.length - keep));
}

function pinned(versions: Omit<Versions, 'pin'>, current: number): Versions {
  return current === versions.live.at(-1) ? versions : { ...versions, pin: current };
}
