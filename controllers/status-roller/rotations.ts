import type { StoredDeployment } from '../../crds/deployment/index.js';
import { parseSecretPath } from '../../crds/grammar/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import {
  getNextPhase,
  isRotationOpen,
  readRotationState,
  type RotationProgress,
  type RotationRecord,
} from '../../crds/rotation/index.js';
import type { Wake } from '../../pkg/reconcile/index.js';
import { type Cache, findRecordFault, readValue, value } from '../../pkg/store/index.js';
import { deriveQueueKey, findRotationFault, listConsumers, readChange } from '../reading/index.js';

/** A rotation under way of a credential that a deployment refers to. */
export interface OpenRotation {
  readonly label: string;
  readonly phase: RotationRecord['phase'];
  /** When the phase was asked for. */
  readonly since: string;
  /** Public id of the token that asked for it, and the deployment through which it was. */
  readonly by: string;
  readonly through: string;
  /** What the phase still waits for. Absent: it is complete, and a client has to ask for the next one. */
  readonly waitsFor?: string;
  readonly next: string;
  /** What is wrong with what is stored of it, when that cannot be worked with. */
  readonly fault?: string;
}

/** The rotations under way that concern a deployment, by label. */
export function listOpenRotations(
  { metadata: { tenant }, secrets = [] }: StoredDeployment,
  cache: Cache,
): readonly OpenRotation[] {
  const labels = new Set(secrets.flatMap(({ vault_path: path }) => parseSecretPath(path)?.label ?? []));
  return [...labels].sort().flatMap(label => {
    const entry = cache.get(keys.rotation(tenant, label));
    if (!entry) return [];
    const record = value<RotationRecord>(entry);
    const fault = findRotationFault(tenant, label, cache);
    const status = readRotationState(record, readValue<RotationProgress>(cache, keys.rotationProgress(tenant, label)));
    if (fault === undefined && !isRotationOpen(status)) return [];
    const { phase, askedAt: since, by, deployment: through } = record;
    const { state, waitsFor } = status;
    return [
      {
        label,
        phase,
        since,
        by,
        through,
        next: getNextPhase(state),
        ...(waitsFor !== undefined && { waitsFor }),
        ...(fault !== undefined && { fault }),
      },
    ];
  });
}

/** What a rotation waits for and who holds it up, for people. */
export function describeRotation({ label, phase, since, by, through, waitsFor, next, fault }: OpenRotation): string {
  if (fault !== undefined)
    return `what is stored of the rotation of ${label} cannot be worked with (${fault}): abort it, or begin it again with "moor rotate"`;
  const asked = `${label} is at ${phase}, asked for at ${since} by token ${by} through ${through}`;
  if (waitsFor !== undefined) return `${asked}; it waits for ${waitsFor}`;
  return `${asked}; that is complete, and it waits for "moor rotate ${through} --secret ${label} --phase ${next}"`;
}

const wakeConsumers = (cache: Cache, tenant: string, path: string | undefined): readonly string[] =>
  path === undefined ? [] : listConsumers(tenant, path, cache).map(({ key }) => deriveQueueKey(key));

/** Wakes the deployments that refer to a credential whose rotation changes. */
export const wakeOnRotation: Wake = {
  prefix: ranges.rotations,
  keys: (change, cache) => {
    const [tenant = ''] = splitKey(change.key);
    // Whose a record is that cannot be read is known by its label only.
    if (change.entry && findRecordFault(change.entry) !== undefined) {
      return cache.list(ranges.of(ranges.deployments, tenant)).map(({ key }) => deriveQueueKey(key));
    }
    const { after, before } = readChange<RotationRecord>(change);
    return wakeConsumers(cache, tenant, (after ?? before)?.path);
  },
};

/** The same for how far a phase is. */
export const wakeOnRotationProgress: Wake = {
  prefix: ranges.rotationProgress,
  keys: (change, cache) => {
    const [tenant = '', label = ''] = splitKey(change.key);
    return wakeConsumers(cache, tenant, readValue<RotationRecord>(cache, keys.rotation(tenant, label))?.path);
  },
};
