import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { parseSecretPath } from '../../../crds/grammar/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { isReady, type Report } from '../../../crds/report/index.js';
import { getNextPhase, isRotationOpen, type RotationFacts, type RotationStep } from '../../../crds/rotation/index.js';
import { type Cache, value } from '../../../pkg/store/index.js';
import { listAnchors } from '../../admission/relations.js';
import { readRotation, type StoredRotation } from '../../admission/rotations.js';

/** What a rotation looks like from one of the deployments that it concerns. Versions are numbers; there is no value here. */
export function toRotationView(cache: Cache, deployment: StoredDeployment, rotation: StoredRotation) {
  const { path } = rotation;
  const replicas = cache
    .list(ranges.replicasOf(deployment.metadata.tenant, deployment.name))
    .map(entry => value<Replica>(entry))
    .toSorted((a, b) => a.slot - b.slot);
  return {
    deployment: deployment.name,
    path,
    ...toPhaseView(rotation),
    secretsVersion: deployment.secretsVersion,
    replicas: replicas.map(replica => replicaView(cache, replica, path)),
  };
}

function toPhaseView({ label, record, status }: StoredRotation) {
  const { state, waitsFor } = status;
  const isOver = state === 'retire' && waitsFor === undefined;
  return {
    secret: label,
    phase: isOver ? 'idle' : state,
    holds: waitsFor === undefined,
    next: getNextPhase(state),
    waitsFor: waitsFor ?? null,
    isAborting: record?.phase === 'abort' && waitsFor !== undefined,
  };
}

/** The rotation of a credential while it is under way, with the deployment through which it was asked for and when. */
export function findOpenRotation(cache: Cache, tenant: string, path: string) {
  const label = parseSecretPath(path)?.label;
  const rotation = label === undefined ? undefined : readRotation(cache, tenant, label, path);
  if (rotation?.record?.path !== path || !isRotationOpen(rotation.status)) return undefined;
  const { deployment, askedAt } = rotation.record;
  return { ...toPhaseView(rotation), deployment, since: askedAt };
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

/** A phase that was found to be the next one, or the present one again. */
export interface RotationRequest {
  readonly deployment: StoredDeployment;
  readonly rotation: StoredRotation;
  readonly step: RotationStep;
}

/** Where the credentials of a deployment lie, by label. */
export function listSecretPathsByLabel({ secrets = [] }: StoredDeployment): ReadonlyMap<string, string> {
  return new Map(secrets.map(({ vault_path: path }) => [parseSecretPath(path)?.label ?? path, path]));
}

/**
 * What a step of a rotation is judged by. One rotation serves all who refer to a credential, so it is external when it is
 * for any of them.
 */
export function readRotationFacts(
  cache: Cache,
  deployment: StoredDeployment,
  rotation: Pick<StoredRotation, 'record' | 'status'> | undefined,
): RotationFacts {
  const { tenant } = deployment.metadata;
  const paths = [...listSecretPathsByLabel(deployment)];
  const external = paths.filter(([, path]) => listAnchors(cache, tenant, path).includes('external'));
  return {
    ...(rotation?.status ?? { state: 'idle' }),
    isTurnedBack: rotation?.record?.phase === 'abort',
    labels: paths.map(([label]) => label),
    external: external.map(([label]) => label),
  };
}
