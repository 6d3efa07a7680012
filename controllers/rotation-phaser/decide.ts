import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { RotationRecord, RotationProgress } from '../../crds/rotation/index.js';
import type { SecretState } from '../../pkg/secrets/index.js';
import { isServing, type ObservedReplica, type SecretHolder } from '../reading/index.js';

/** Everything that the next step of a rotation depends on. */
export interface PhaserInput {
  readonly rotation: RotationRecord;
  /** Of this rotation; undefined before the first step. */
  readonly progress: RotationProgress | undefined;
  /** The versions in the secrets store. */
  readonly versions: SecretState;
  /** A request may be writing to the credential: a pending version may be that request's. */
  readonly isBeingWritten: boolean;
  /** Deployments that refer to the credential and are to stay. */
  readonly consumers: readonly StoredDeployment[];
  /** Replicas whose containers have, or are to have, some version of it. */
  readonly holders: readonly SecretHolder[];
}

/** The one thing to do next. */
export type PhaserStep =
  /** Make new material and stage it. */
  | { readonly kind: 'mint' }
  /** Make this version current, so that new containers get it. */
  | { readonly kind: 'promote'; readonly to: number }
  /** Raise the secretsVersion of a consumer, so that its containers are recreated. */
  | { readonly kind: 'raise'; readonly consumer: StoredDeployment; readonly ledger: 'raised' | 'returned' }
  /** Destroy a version: the last step of its phase. */
  | { readonly kind: 'destroy'; readonly version: number }
  | { readonly kind: 'wait'; readonly for: string }
  /** The phase is complete. */
  | { readonly kind: 'hold' };

const wait = (text: string): PhaserStep => ({ kind: 'wait', for: text });
const hold: PhaserStep = { kind: 'hold' };

const TAKEN = 'the phase stage again: another write has taken the version number';
const BEING_WRITTEN = 'the end of another write of the secret';

/**
 * Decides the next step of a rotation.
 *
 * A pure function of the stored state, so that it can be called again after any step and any crash. No step destroys a
 * version that a container may still have: the old one is destroyed last, when every container has the new one and is
 * healthy.
 */
export function decidePhaserStep(input: PhaserInput): PhaserStep {
  switch (input.rotation.phase) {
    case 'stage':
      return decideStage(input);
    case 'promote':
    case 'verify':
      return decidePromote(input);
    case 'retire':
      return decideRetire(input);
    case 'abort':
      return decideAbort(input);
  }
}

function decideStage({ rotation, versions, isBeingWritten }: PhaserInput): PhaserStep {
  if (isBeingWritten) return wait(BEING_WRITTEN);
  if (versions.pending === rotation.to) return hold;
  if (versions.last >= rotation.to) return wait(TAKEN);
  return rotation.material.by === 'platform'
    ? { kind: 'mint' }
    : wait('the values: send them again with the phase stage');
}

/** Makes the staged version current, recreates the containers of every consumer, and waits until all are healthy. */
function decidePromote(input: PhaserInput): PhaserStep {
  const { rotation, versions, consumers, progress } = input;
  if ((versions.current ?? 0) < rotation.to) return { kind: 'promote', to: rotation.to };

  const due = consumers.find(
    consumer => progress?.raised[consumer.metadata.uid] === undefined && mustBeRaised(consumer, input),
  );
  if (due) return { kind: 'raise', consumer: due, ledger: 'raised' };
  const missing = describeMissing(input);
  return missing === undefined ? hold : wait(missing);
}

/** True for consumers older than the request of the phase, and for later ones that still got the old version. */
function mustBeRaised({ metadata }: StoredDeployment, { rotation, holders }: PhaserInput): boolean {
  if (rotation.phase === 'promote' && metadata.createdAt <= rotation.askedAt) return true;
  return holders.some(seen => seen.replica.deploymentUid === metadata.uid && hasOlder(seen, rotation));
}

function decideRetire(input: PhaserInput): PhaserStep {
  const { from } = input.rotation;
  const missing = describeMissing(input);
  if (missing !== undefined) return wait(missing);
  return from > 0 ? { kind: 'destroy', version: from } : hold;
}

/**
 * Makes the old version current again, recreates the containers that have the new one, then destroys the new one. A
 * first version stays, because there is no earlier one to return to.
 */
function decideAbort(input: PhaserInput): PhaserStep {
  const { rotation, progress, versions, consumers, holders } = input;
  if (!progress?.staged) {
    if (input.isBeingWritten) return wait(BEING_WRITTEN);
    if (versions.pending !== rotation.to) return hold; // a version of that number, if any, belongs to another write
  }
  if (versions.current === rotation.to) return rotation.from > 0 ? { kind: 'promote', to: rotation.from } : hold;

  const isNew = (seen: SecretHolder) => listVersions(seen, rotation).includes(rotation.to) && mayRun(seen);
  const due = consumers.find(({ metadata: { uid } }) => {
    if (progress?.returned[uid] !== undefined) return false;
    return (
      progress?.raised[uid] !== undefined || holders.some(seen => seen.replica.deploymentUid === uid && isNew(seen))
    );
  });
  if (due) return { kind: 'raise', consumer: due, ledger: 'returned' };
  const left = holders.find(isNew);
  if (left) return wait(`${formatReplica(left)}, which still has the new version`);
  return { kind: 'destroy', version: rotation.to };
}

/** What the containers still lack, as a text for operators. Undefined when they lack nothing. */
function describeMissing({ rotation, consumers, holders }: PhaserInput): string | undefined {
  const older = holders.find(seen => hasOlder(seen, rotation));
  for (const consumer of consumers) {
    const own = holders.filter(({ replica }) => replica.deploymentUid === consumer.metadata.uid);
    const ready = own.filter(seen => isReadyWith(seen, consumer, rotation)).length;
    if (ready >= consumer.replicas) continue;
    const unhealthy = own.find(seen => !seen.replica.retiringSince && seen.report && !isServing(seen));
    const trouble = unhealthy ? `; ${formatReplica(unhealthy)} is ${describeFailure(unhealthy)}` : '';
    return `healthy containers on the new version: ${ready} of ${consumer.replicas} replicas of ${consumer.name}${trouble}`;
  }
  return older && `${formatReplica(older)}, which still has the old version`;
}

function isReadyWith(seen: SecretHolder, { secretsVersion }: StoredDeployment, rotation: RotationRecord): boolean {
  const { replica } = seen;
  const isNew =
    replica.template.secretsVersion === secretsVersion &&
    listVersions(seen, rotation).every(version => version >= rotation.to);
  return isNew && replica.retiringSince === undefined && isServing(seen);
}

/** Whether the replica may have a container with a version before the staged one. */
function hasOlder(seen: SecretHolder, rotation: RotationRecord): boolean {
  const isStamped = seen.replica.resolved !== undefined;
  return isStamped && listVersions(seen, rotation).some(version => version < rotation.to) && mayRun(seen);
}

function mayRun({ report }: ObservedReplica): boolean {
  return report?.state !== 'removed';
}

/** The versions that the container may have: the one last given out for it, and the one it would be given now. */
function listVersions({ replica, delivered }: SecretHolder, { path }: RotationRecord): readonly number[] {
  const stamped = replica.resolved?.versions[path] ?? 0;
  return delivered === undefined ? [stamped] : [stamped, delivered];
}

function formatReplica({ replica }: ObservedReplica): string {
  return `replica ${replica.slot} of ${replica.deployment}`;
}

function describeFailure({ report, node }: ObservedReplica): string {
  if (node !== 'well') return 'on a node whose agent sends no heartbeats';
  return report?.reason ?? (report?.health === 'unhealthy' ? 'unhealthy' : (report?.state ?? 'not started'));
}
