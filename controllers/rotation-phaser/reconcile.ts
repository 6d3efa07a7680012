import { isDeepStrictEqual } from 'node:util';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { RotationRecord, RotationProgress } from '../../crds/rotation/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { withWantedReplicas } from '../../pkg/fleet/index.js';
import type { SecretIntent } from '../../pkg/material/index.js';
import { again, done, type LoopEnv, type Reconcile, type ReconcileResult } from '../../pkg/reconcile/index.js';
import { toCredentialPath, type SecretStore } from '../../pkg/secrets/index.js';
import { type Cache, type Entry, findRecordFault, value } from '../../pkg/store/index.js';
import { deriveQueueKey, findRotationFault, listConsumers, listHolders, parseQueueKey } from '../reading/index.js';
import {
  buildPhaseEvent,
  describeSecretFault,
  FORBIDDEN,
  GONE,
  mintMaterial,
  raiseSecretsVersion,
  recordProgress,
  requestAbort,
  type RotationSubject,
  toProgress,
} from './changes.js';
import { decidePhaserStep, type PhaserInput, type PhaserStep } from './decide.js';

const RETRY_MS = 2_000;

/**
 * Does the next steps of one rotation until it must wait, and records what it waits for. After a change in the secrets
 * store it reads and decides again at once, because the secrets store announces nothing.
 */
export function reconcileRotation(secrets: SecretStore): Reconcile {
  return async (key, env) => {
    for (;;) {
      const subject = readSubject(key, env);
      if (subject && isHeld(subject, env)) return done;
      if (subject && isUnused(subject, env)) {
        await abortUnused(subject, env);
        continue;
      }
      if (!subject || isPhaseComplete(subject)) return done;
      const unreadable = findUnreadable(subject, env);
      if (unreadable !== undefined) return await waitFor(subject, `${unreadable}, which cannot be worked with`, env);
      let step: PhaserStep;
      try {
        const observed = await observeSecret(secrets, subject, env);
        if (!observed) return await waitFor(subject, FORBIDDEN, env);
        step = decidePhaserStep(buildInput(subject, observed, env));
        if (step.kind === 'mint' || step.kind === 'promote' || step.kind === 'destroy') {
          failpoint('rotation.secret_changing');
          const hindrance = await changeSecret(step, secrets, subject, { env, uid: observed.uid });
          failpoint('rotation.secret_changed');
          if (hindrance !== undefined) return await waitFor(subject, hindrance, env);
          const destroyed = step.kind === 'destroy' ? readSubject(key, env) : undefined;
          if (destroyed && isSamePhase(destroyed, subject)) return await completePhase(destroyed, env);
          continue;
        }
      } catch (thrown) {
        const hindrance = describeSecretFault(thrown);
        if (hindrance === undefined) throw thrown;
        return await waitFor(subject, hindrance, env);
      }
      if (step.kind === 'wait') return await waitFor(subject, step.for, env);
      if (step.kind === 'hold') return await completePhase(subject, env);
      await raiseConsumer(step, subject, env);
    }
  };
}

function readSubject(key: string, { cache }: LoopEnv): RotationSubject | undefined {
  const named = parseQueueKey(key);
  const entry = cache.get(keys.rotation(named.tenant, named.name));
  if (!entry) return undefined;
  const rotation = value<RotationRecord>(entry);
  const recorded = cache.get(keys.rotationProgress(named.tenant, named.name));
  const progress = recorded && value<RotationProgress>(recorded);
  return { named, entry, rotation, recorded, progress: progress?.id === rotation.id ? progress : undefined };
}

/**
 * A rotation of which something cannot be read is left alone: which version is whose is not known then. Only the way back is
 * open, for which the request alone is enough.
 */
function isHeld({ named, entry, rotation }: RotationSubject, { cache }: LoopEnv): boolean {
  if (findRecordFault(entry) !== undefined) return true;
  return rotation.phase !== 'abort' && findRotationFault(named.tenant, named.name, cache) !== undefined;
}

/** A replica, or what was given to it, that cannot be read: it may have any version. Undefined when there is none. */
function findUnreadable({ named, rotation }: RotationSubject, { cache }: LoopEnv): string | undefined {
  const consumers = listConsumers(named.tenant, rotation.path, cache).map(({ key }) =>
    parseQueueKey(deriveQueueKey(key)),
  );
  const records = consumers.flatMap(({ tenant, name }) => [
    ...cache.list(ranges.replicasOf(tenant, name)),
    ...cache.list(ranges.deliveriesOf(tenant, name)),
  ]);
  return records.find(entry => findRecordFault(entry) !== undefined)?.key;
}

/** A completed phase stays complete: later changes matter to the next phase only. */
function isPhaseComplete({ rotation, progress }: RotationSubject): boolean {
  return progress?.phase === rotation.phase && progress.holds;
}

/** Whether nothing else has been asked for since. */
function isSamePhase({ rotation: now }: RotationSubject, { rotation: before }: RotationSubject): boolean {
  return now.id === before.id && now.phase === before.phase;
}

/** No deployment refers to the credential any more, so no request can start the next phase: it would stay open for ever. */
function isUnused({ named, rotation }: RotationSubject, { cache }: LoopEnv): boolean {
  if (rotation.phase === 'retire' || rotation.phase === 'abort') return false;
  return listStayingConsumers(named.tenant, rotation.path, cache).length === 0;
}

/** The deployments that refer to a credential and are to stay. */
function listStayingConsumers(tenant: string, path: string, cache: Cache): readonly StoredDeployment[] {
  const consumers = listConsumers(tenant, path, cache).map(entry => value<StoredDeployment>(entry));
  return consumers.filter(({ metadata }) => metadata.deletedAt === undefined);
}

/** Undefined when the platform may not access the credential. */
async function readVersions(
  secrets: SecretStore,
  { named, rotation }: RotationSubject,
): Promise<Pick<SecretObservation, 'versions' | 'uid'> | undefined> {
  const reading = await secrets.state(toCredentialPath(named.tenant, rotation.path));
  if (reading.kind === 'forbidden') return undefined;
  return reading.kind === 'found'
    ? { versions: reading.state, uid: reading.uid }
    : { versions: { last: 0 }, uid: undefined };
}

/** The versions in the secrets store, and whether a request may be writing one. */
interface SecretObservation extends Pick<PhaserInput, 'versions' | 'isBeingWritten'> {
  /** Which credential has them; undefined when there is none. */
  readonly uid: string | undefined;
}

/**
 * Reads the versions in the secrets store. Until the rotation has staged its own version it reads them twice, and the
 * intents in between: an intent exists for as long as the version of a request is pending, so a version that is pending
 * in both readings, without an intent, is no request's. Undefined when the platform may not access the credential.
 */
async function observeSecret(
  secrets: SecretStore,
  subject: RotationSubject,
  env: LoopEnv,
): Promise<SecretObservation | undefined> {
  const before = await readVersions(secrets, subject);
  if (!before || subject.progress?.staged) return before && { ...before, isBeingWritten: false };
  await env.cache.barrier();
  const isIntended = listIntents(subject, env).length > 0;
  const after = await readVersions(secrets, subject);
  const isMoving = after?.versions.pending !== before.versions.pending;
  return after && { ...after, isBeingWritten: isIntended || isMoving };
}

function listIntents({ named, rotation }: RotationSubject, { cache }: LoopEnv): readonly Entry[] {
  const intents = cache.list(ranges.of(ranges.intents, named.tenant));
  return intents.filter(entry => value<SecretIntent>(entry).writes.some(({ path }) => path === rotation.path));
}

function buildInput(
  { named, rotation, progress }: RotationSubject,
  observed: SecretObservation,
  { cache }: LoopEnv,
): PhaserInput {
  return {
    rotation,
    progress,
    versions: observed.versions,
    isBeingWritten: observed.isBeingWritten,
    consumers: listStayingConsumers(named.tenant, rotation.path, cache).map(each => withWantedReplicas(each, cache)),
    holders: listHolders(named.tenant, rotation.path, cache),
  };
}

/**
 * Changes the secrets store, as the leader and for the credential that was seen. Returns what the rotation must wait for when
 * that is impossible.
 */
async function changeSecret(
  step: Extract<PhaserStep, { readonly kind: 'mint' | 'promote' | 'destroy' }>,
  secrets: SecretStore,
  subject: RotationSubject,
  { env, uid }: { readonly env: LoopEnv; readonly uid: string | undefined },
): Promise<string | undefined> {
  const { named, rotation } = subject;
  const path = toCredentialPath(named.tenant, rotation.path);
  const about = { tenant: named.tenant, key: named.name };
  const condition = { guards: [env.fence], ...(uid !== undefined && { uid }) };
  if (step.kind === 'mint') {
    const kind = await mintMaterial(secrets, path, rotation, { random: env.random, ...condition });
    if (kind === 'written') env.log.info('new material staged', { ...about, version: `${rotation.to}` });
    return kind === 'forbidden' ? FORBIDDEN : undefined;
  }
  const version = step.kind === 'promote' ? step.to : step.version;
  const outcome = await (step.kind === 'promote'
    ? secrets.promote(path, version, condition)
    : secrets.destroy(path, version, { ...condition, uid: await recordDoomed(subject, version, { env, uid }) }));
  if (outcome.kind === 'forbidden') return FORBIDDEN;
  if (outcome.kind === 'missing') return GONE;
  env.log.info('secret version changed', { ...about, phase: step.kind, version: `${version}` });
  return undefined;
}

/**
 * Records what is about to be destroyed: a leader that was paused can record nothing any more, and destroys nothing but what
 * was recorded. Returns the uid of its credential.
 */
async function recordDoomed(
  subject: RotationSubject,
  version: number,
  { env, uid = '' }: { readonly env: LoopEnv; readonly uid: string | undefined },
): Promise<string> {
  const { phase, dooms } = subject.progress ?? {};
  if (phase === subject.rotation.phase && dooms?.version === version) return dooms.uid;
  await env.commit(recordProgress(subject, toProgress(subject, env, { dooms: { version, uid } })));
  return uid;
}

async function raiseConsumer(
  { consumer, ledger }: Extract<PhaserStep, { readonly kind: 'raise' }>,
  subject: RotationSubject,
  env: LoopEnv,
): Promise<void> {
  const entry = env.cache.get(keys.deployment(subject.named.tenant, consumer.name))!;
  failpoint('rotation.raising');
  await env.commit(
    await raiseSecretsVersion(subject, ledger, { entry, deployment: value<StoredDeployment>(entry) }, env),
  );
  failpoint('rotation.raised');
  env.log.info('secrets version raised', { tenant: subject.named.tenant, deployment: consumer.name, phase: ledger });
}

async function abortUnused(subject: RotationSubject, env: LoopEnv): Promise<void> {
  await env.commit(requestAbort(subject, env));
  env.log.info('a rotation is aborted', {
    tenant: subject.named.tenant,
    key: subject.named.name,
    because: 'unused',
  });
}

/** The secrets store announces no writes, so the rotation is reconciled again in any case. */
async function waitFor(subject: RotationSubject, waitsFor: string, env: LoopEnv): Promise<ReconcileResult> {
  const next = toProgress(subject, env, { waitsFor });
  const { progress } = subject;
  if (!progress || !isDeepStrictEqual({ ...next, at: progress.at }, progress)) {
    failpoint('rotation.waiting');
    await env.commit(recordProgress(subject, next));
    failpoint('rotation.waited');
  }
  return again(RETRY_MS, waitsFor);
}

async function completePhase(subject: RotationSubject, env: LoopEnv): Promise<ReconcileResult> {
  const isStaged = subject.rotation.phase === 'stage' || subject.progress?.staged === true;
  const next = toProgress(subject, env, { holds: true, staged: isStaged });
  failpoint('rotation.holding');
  await env.commit(recordProgress(subject, next, { puts: [await buildPhaseEvent(subject, env)] }));
  failpoint('rotation.held');
  env.log.info('a phase of a rotation is complete', {
    tenant: subject.named.tenant,
    key: subject.named.name,
    phase: subject.rotation.phase,
  });
  return done;
}
