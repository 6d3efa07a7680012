import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { isReady, type Report } from '../../crds/report/index.js';
import {
  type RotationRecord,
  getNextPhase,
  type RotationFacts,
  type RotationProgress,
  readRotationState,
} from '../../crds/rotation/index.js';
import { type Cache, type Entry, value } from '../../pkg/store/index.js';

/** The rotation of one credential, as it is stored. */
export interface StoredRotation {
  readonly label: string;
  readonly path: string;
  readonly entry: Entry | undefined;
  readonly asked: RotationRecord | undefined;
  readonly standing: Pick<RotationFacts, 'state' | 'waitsFor'>;
  /** The rotation phaser has recorded the new version as this rotation's own. */
  readonly isStaged: boolean;
}

/** Reads the rotation of a credential. */
export function rotationOf(cache: Cache, tenant: string, label: string, path: string): StoredRotation {
  const entry = cache.get(keys.rotation(tenant, label));
  const recorded = cache.get(keys.rotationProgress(tenant, label));
  const asked = entry && value<RotationRecord>(entry);
  const progress = recorded && value<RotationProgress>(recorded);
  const isStaged = asked !== undefined && progress?.id === asked.id && progress.staged;
  return { label, path, entry, asked, standing: readRotationState(asked, progress), isStaged };
}

/** What a rotation looks like from one of the deployments that it concerns. Versions are numbers; there is no value here. */
export function rotationView(cache: Cache, deployment: StoredDeployment, rotation: StoredRotation) {
  const { label, path, asked, standing } = rotation;
  const { state, waitsFor } = standing;
  const isOver = state === 'retire' && waitsFor === undefined;
  const replicas = cache
    .list(ranges.replicasOf(deployment.metadata.tenant, deployment.name))
    .map(entry => value<Replica>(entry))
    .toSorted((a, b) => a.slot - b.slot);
  return {
    deployment: deployment.name,
    secret: label,
    path,
    phase: isOver ? 'idle' : state,
    holds: waitsFor === undefined,
    next: getNextPhase(state),
    waitsFor: waitsFor ?? null,
    isAborting: asked?.phase === 'abort' && waitsFor !== undefined,
    secretsVersion: deployment.secretsVersion,
    replicas: replicas.map(replica => replicaView(cache, replica, path)),
  };
}

function replicaView(
  cache: Cache,
  { tenant, nodeId, uid, slot, template, resolved, retiringSince }: Replica,
  path: string,
) {
  const entry = nodeId === undefined ? undefined : cache.get(keys.report(tenant, nodeId, uid));
  return {
    replica: slot,
    secretsVersion: template.secretsVersion,
    version: resolved?.versions[path] ?? null,
    healthy: retiringSince === undefined && isReady(entry && value<Report>(entry)),
  };
}
