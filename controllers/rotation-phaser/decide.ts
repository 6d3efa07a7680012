import type { StoredDeployment } from '../../crds/deployment/index.js';
import type { RotationRecord, RotationProgress } from '../../crds/rotation/index.js';
import type { SecretState } from '../../pkg/secrets/index.js';
import { isServing, type ObservedReplica } from '../reading/index.js';

/** All that the next step of a rotation depends on. */
export interface PhaserInput {
  readonly asked: RotationRecord;
  /** Of this rotation; undefined before the first step. */
  readonly progress: RotationProgress | undefined;
  /** What the secrets store holds. */
  readonly versions: SecretState;
  /** A request may be writing to the credential: a pending version may be that request's. */
  readonly isBeingWritten: boolean;
  /** Deployments that refer to the credential and are to stay. */
  readonly consumers: readonly StoredDeployment[];
  /** Replicas whose containers have, or are to have, some version of it. */
  readonly holders: readonly ObservedReplica[];
}

/** The one thing to do next. */
export type PhaserStep =
  /** Make new material and stage it. */
  | { readonly kind: 'mint' }
  /** Have containers get this version from now on. */
  | { readonly kind: 'turn'; readonly to: number }
  /** Raise the secretsVersion of a consumer, so that its containers are made anew. */
  | { readonly kind: 'raise'; readonly consumer: StoredDeployment; readonly ledger: 'raised' | 'returned' }
  /** The last of its phase, which holds once it is done. */
  | { readonly kind: 'destroy'; readonly version: number }
  | { readonly kind: 'wait'; readonly for: string }
  /** The phase holds. */
  | { readonly kind: 'hold' };

const wait = (text: string): PhaserStep => ({ kind: 'wait', for: text });
const hold: PhaserStep = { kind: 'hold' };

const TAKEN = 'the phase stage again: another write has taken the version number';
const BEING_WRITTEN = 'the end of another write of the secret';

/**
 * Decides the next step of a rotation.
 *
 * A pure function of what is stored, so that it may be asked again after any step and any crash. No step takes a version
 * away that a container may still have: the old one goes last, when every container is on the new one and well.
 */
export function decidePhaserStep(facts: PhaserInput): PhaserStep {
  switch (facts.asked.phase) {
    case 'stage':
      return stageStep(facts);
    case 'promote':
    case 'verify':
      return forwardStep(facts);
    case 'retire':
      return retireStep(facts);
    case 'abort':
      return abortStep(facts);
  }
}

function stageStep({ asked, versions, isBeingWritten }: PhaserInput): PhaserStep {
  if (isBeingWritten) return wait(BEING_WRITTEN);
  if (versions.pending === asked.to) return hold;
  if (versions.last >= asked.to) return wait(TAKEN);
  return asked.material.by === 'platform' ? { kind: 'mint' } : wait('the values: send them again with the phase stage');
}

/** Makes the staged version current, has every consumer made anew, and waits until all of them are well with it. */
function forwardStep(facts: PhaserInput): PhaserStep {
  const { asked, versions, consumers, progress } = facts;
  if ((versions.current ?? 0) < asked.to) return { kind: 'turn', to: asked.to };

  const due = consumers.find(
    consumer => progress?.raised[consumer.metadata.uid] === undefined && mustRise(consumer, facts),
  );
  if (due) return { kind: 'raise', consumer: due, ledger: 'raised' };
  const lacking = whatLacks(facts);
  return lacking === undefined ? hold : wait(lacking);
}

/** Every consumer there was when the phase was asked for, and whoever was made with the old version since. */
function mustRise({ metadata }: StoredDeployment, { asked, holders }: PhaserInput): boolean {
  if (asked.phase === 'promote' && metadata.createdAt <= asked.askedAt) return true;
  return holders.some(seen => seen.replica.deploymentUid === metadata.uid && hasOlder(seen, asked));
}

function retireStep(facts: PhaserInput): PhaserStep {
  const { from } = facts.asked;
  const lacking = whatLacks(facts);
  if (lacking !== undefined) return wait(lacking);
  return from > 0 ? { kind: 'destroy', version: from } : hold;
}

/**
 * Goes back: the old version is current again, whoever got the new one is made anew, and then the new one goes. A first
 * version stays, because there is nothing to go back to.
 */
function abortStep(facts: PhaserInput): PhaserStep {
  const { asked, progress, versions, consumers, holders } = facts;
  if (!progress?.staged) {
    if (facts.isBeingWritten) return wait(BEING_WRITTEN);
    if (versions.pending !== asked.to) return hold; // a version of that number, if there is one, is somebody else's
  }
  if (versions.current === asked.to) return asked.from > 0 ? { kind: 'turn', to: asked.from } : hold;

  const isNew = (seen: ObservedReplica) => versionIn(seen, asked) === asked.to && mayRun(seen);
  const due = consumers.find(({ metadata: { uid } }) => {
    if (progress?.returned[uid] !== undefined) return false;
    return (
      progress?.raised[uid] !== undefined || holders.some(seen => seen.replica.deploymentUid === uid && isNew(seen))
    );
  });
  if (due) return { kind: 'raise', consumer: due, ledger: 'returned' };
  const left = holders.find(isNew);
  if (left) return wait(`${nameOf(left)}, which still has the new version`);
  return { kind: 'destroy', version: asked.to };
}

/** What the rotation waits for in the containers, for people. */
function whatLacks({ asked, consumers, holders }: PhaserInput): string | undefined {
  const older = holders.find(seen => hasOlder(seen, asked));
  for (const consumer of consumers) {
    const own = holders.filter(({ replica }) => replica.deploymentUid === consumer.metadata.uid);
    const ready = own.filter(seen => isReadyWith(seen, consumer, asked)).length;
    if (ready >= consumer.replicas) continue;
    const ill = own.find(seen => !seen.replica.retiringSince && seen.report && !isServing(seen));
    const trouble = ill ? `; ${nameOf(ill)} is ${describeFailure(ill)}` : '';
    return `healthy containers on the new version: ${ready} of ${consumer.replicas} replicas of ${consumer.name}${trouble}`;
  }
  return older && `${nameOf(older)}, which still has the old version`;
}

function isReadyWith(seen: ObservedReplica, { secretsVersion }: StoredDeployment, asked: RotationRecord): boolean {
  const { replica } = seen;
  const isNew = replica.template.secretsVersion === secretsVersion && versionIn(seen, asked) >= asked.to;
  return isNew && replica.retiringSince === undefined && isServing(seen);
}

/** Whether a container may be there that has a version before the staged one. */
function hasOlder(seen: ObservedReplica, asked: RotationRecord): boolean {
  return seen.replica.resolved !== undefined && versionIn(seen, asked) < asked.to && mayRun(seen);
}

function mayRun({ report }: ObservedReplica): boolean {
  return report?.state !== 'removed';
}

function versionIn({ replica }: ObservedReplica, { path }: RotationRecord): number {
  return replica.resolved?.versions[path] ?? 0;
}

function nameOf({ replica }: ObservedReplica): string {
  return `replica ${replica.slot} of ${replica.deployment}`;
}

function describeFailure({ report, node }: ObservedReplica): string {
  if (node !== 'well') return 'on a node whose agent sends no heartbeats';
  return report?.reason ?? (report?.health === 'unhealthy' ? 'unhealthy' : (report?.state ?? 'not started'));
}
