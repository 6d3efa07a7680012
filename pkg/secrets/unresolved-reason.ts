import type { UnresolvedReason } from '../../crds/delivery/index.js';
import type { MissingReference, Unresolved } from './resolve.js';

/** Why an environment cannot be had, as it is shown. */
export interface UnresolvedWords {
  readonly reason: UnresolvedReason;
  /** For people. Paths and names only. */
  readonly message: string;
}

const UNAVAILABLE = {
  sealed: 'the secrets store is sealed',
  login: 'the secrets store does not accept the platform’s own credentials',
  unreachable: 'the secrets store cannot be reached',
} as const;

/** Puts into words why an environment cannot be had. */
export function explainUnresolved(unresolved: Unresolved): UnresolvedWords {
  switch (unresolved.kind) {
    case 'unavailable':
      return { reason: 'secret_store_unavailable', message: UNAVAILABLE[unresolved.because] };
    case 'forbidden':
      return { reason: 'secret_forbidden', message: `the policy does not grant ${unresolved.paths.join(', ')}` };
    case 'unreadable':
      return { reason: 'secret_unreadable', message: `cannot be opened: ${unresolved.paths.join(', ')}` };
    case 'missing':
      return { reason: 'secret_missing', message: `not there: ${unresolved.missing.map(nameOf).join(', ')}` };
    case 'undeliverable':
      return { reason: 'secret_undeliverable', message: troubleWith(unresolved.collisions, unresolved.unusable) };
  }
}

function nameOf({ path, key }: MissingReference): string {
  return key === undefined ? path : `key ${key} of ${path}`;
}

function troubleWith(collisions: readonly string[], unusable: readonly string[]): string {
  return [
    ...(collisions.length > 0 ? [`two variables are called ${collisions.join(', ')}`] : []),
    ...(unusable.length > 0 ? [`no container can have the variables ${unusable.join(', ')}`] : []),
  ].join('; ');
}
