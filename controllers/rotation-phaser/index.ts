/**
 * The rotation phaser: does the work of each phase of a rotation, and records when the phase is complete.
 *
 * No container ever has a version that is destroyed: the new version is staged, made current, rolled out to every
 * container and found healthy before the old one is destroyed. The API writes which phase is requested; the phaser
 * writes its progress. `decide.ts` chooses the next step, `reconcile.ts` does it, `changes.ts` builds the writes.
 *
 * @module
 */
import { keys, ranges, splitKey, toStatusKey } from '../../crds/keys/index.js';
import {
  type RotationRecord,
  isRotationOpen,
  readRotationState,
  type RotationProgress,
  rotationKind,
} from '../../crds/rotation/index.js';
import type { Loop, Wake } from '../../pkg/reconcile/index.js';
import type { SecretStore } from '../../pkg/secrets/index.js';
import { type Cache, type Entry, value } from '../../pkg/store/index.js';
import { wakeItself, formatQueueKey, deriveQueueKey } from '../reading/index.js';
import { reconcileRotation } from './reconcile.js';

/** The loop. */
export function createRotationPhaser(secrets: SecretStore): Loop {
  const watched = [ranges.deployments, ranges.replicas, ranges.reports, ranges.nodeStatuses];
  return {
    name: 'rotation-phaser',
    wakes: [wakeItself(ranges.rotations), stagedByCaller, ...watched.map(openRotations)],
    reconcile: reconcileRotation(secrets),
    concurrency: 8,
  };
}

/** Wakes the rotation of a credential that is written to the embedded store. */
const stagedByCaller: Wake = {
  prefix: ranges.secrets,
  keys: ({ key }, cache) => {
    const [tenant = '', , label = ''] = splitKey(key);
    return cache.get(keys.rotation(tenant, label)) ? [formatQueueKey({ tenant, name: label })] : [];
  },
};

/** Wakes the open rotations of a tenant at any change of its containers. */
function openRotations(prefix: string): Wake {
  return {
    prefix,
    keys: ({ key }, cache) => {
      const [tenant = ''] = splitKey(key);
      const entries = cache.list(ranges.of(ranges.rotations, tenant));
      return entries.filter(entry => isUnderWay(entry, cache)).map(({ key: own }) => deriveQueueKey(own));
    },
  };
}

function isUnderWay(entry: Entry, cache: Cache): boolean {
  const recorded = cache.get(toStatusKey(rotationKind, entry.key));
  const progress = recorded && value<RotationProgress>(recorded);
  return isRotationOpen(readRotationState(value<RotationRecord>(entry), progress));
}
