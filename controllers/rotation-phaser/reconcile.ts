import { isDeepStrictEqual } from 'node:util';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { RotationRecord, RotationProgress } from '../../crds/rotation/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import type { SecretIntent } from '../../pkg/material/index.js';
import { again, done, type LoopEnv, type Reconcile, type ReconcileResult } from '../../pkg/reconcile/index.js';
import { toCredentialPath, type SecretState, type SecretStore } from '../../pkg/secrets/index.js';
import { type Cache, type Entry, value } from '../../pkg/store/index.js';
import { listConsumers, listHolders, parseQueueKey } from '../reading/index.js';
import {
  buildPhaseEvent,
  raiseSecretsVersion,
  recordProgress,
  requestAbort,
  type RotationSubject,
  toProgress,
} from './changes.js';
import { decidePhaserStep, type PhaserInput, type PhaserStep } from './decide.js';
import { describeSecretFault, FORBIDDEN, GONE, mintMaterial } from './secret-store.js';

const RETRY_MS = 2_000;

/**
 * Does the next step of one rotation, or says what it waits for. Each step leaves something that wakes it again, or is
 * followed by another look at once: the secrets store announces nothing.
 */
export function reconcileRotation(secrets: SecretStore): Reconcile {
  return async (key, env) => {
    for (;;) {
      const subject = subjectOf(key, env);
      if (subject && isDeserted(subject, env)) {
        await turnBack(subject, env);
        continue;
      }
      if (!subject || isOver(subject)) return done;
      let step: PhaserStep;
      try {
        const held = await heldBy(secrets, subject, env);
        if (!held) return await waitFor(subject, FORBIDDEN, env);
        step = decidePhaserStep(factsOf(subject, held, env));
        if (step.kind === 'mint' || step.kind === 'turn' || step.kind === 'destroy') {
          failpoint('rotation.secret_changing');
          const hindrance = await changeSecret(step, secrets, subject, env);
          failpoint('rotation.secret_changed');
          if (hindrance !== undefined) return await waitFor(subject, hindrance, env);
          if (step.kind === 'destroy') return await holds(subject, env);
          continue;
        }
      } catch (thrown) {
        const hindrance = describeSecretFault(thrown);
        if (hindrance === undefined) throw thrown;
        return await waitFor(subject, hindrance, env);
      }
      if (step.kind === 'wait') return await waitFor(subject, step.for, env);
      if (step.kind === 'hold') return await holds(subject, env);
      await raiseOne(step, subject, env);
    }
  };
}

function subjectOf(key: string, { cache }: LoopEnv): RotationSubject | undefined {
  const named = parseQueueKey(key);
  const entry = cache.get(keys.rotation(named.tenant, named.name));
  if (!entry) return undefined;
  const asked = value<RotationRecord>(entry);
  const recorded = cache.get(keys.rotationProgress(named.tenant, named.name));
  const progress = recorded && value<RotationProgress>(recorded);
  return { named, entry, asked, recorded, progress: progress?.id === asked.id ? progress : undefined };
}

/** A phase that holds stays so: what happens later is the next phase's business. */
function isOver({ asked, progress }: RotationSubject): boolean {
  return progress?.phase === asked.phase && progress.holds;
}

/** No deployment refers to the credential any more, so no request can ask for the next phase: it would stay open for ever. */
function isDeserted({ named, asked }: RotationSubject, { cache }: LoopEnv): boolean {
  if (asked.phase === 'retire' || asked.phase === 'abort') return false;
  return stayingConsumers(named.tenant, asked.path, cache).length === 0;
}

/** The deployments that refer to a credential and are to stay. */
function stayingConsumers(tenant: string, path: string, cache: Cache): readonly StoredDeployment[] {
  const consumers = listConsumers(tenant, path, cache).map(entry => value<StoredDeployment>(entry));
  return consumers.filter(({ metadata }) => metadata.deletedAt === undefined);
}

/** Undefined when the platform may not touch the credential. */
async function versionsOf(secrets: SecretStore, { named, asked }: RotationSubject): Promise<SecretState | undefined> {
  const reading = await secrets.state(toCredentialPath(named.tenant, asked.path));
  if (reading.kind === 'forbidden') return undefined;
  return reading.kind === 'found' ? reading.state : { last: 0 };
}

/** What the secrets store holds, and whether a request may be changing that. */
type Held = Pick<PhaserInput, 'versions' | 'isBeingWritten'>;

/**
 * Looks at the secrets store, and before the rotation has a version of its own at the intents in between: an intent is
 * there for as long as a version of a request is pending, so a version that is pending before and after, with no intent,
 * is no request's. Undefined when the platform may not touch the credential.
 */
async function heldBy(secrets: SecretStore, subject: RotationSubject, env: LoopEnv): Promise<Held | undefined> {
  const before = await versionsOf(secrets, subject);
  if (!before || subject.progress?.staged) return before && { versions: before, isBeingWritten: false };
  await env.cache.barrier();
  const isIntended = intentsOf(subject, env).length > 0;
  const versions = await versionsOf(secrets, subject);
  return versions && { versions, isBeingWritten: isIntended || versions.pending !== before.pending };
}

function intentsOf({ named, asked }: RotationSubject, { cache }: LoopEnv): readonly Entry[] {
  const intents = cache.list(ranges.of(ranges.intents, named.tenant));
  return intents.filter(entry => value<SecretIntent>(entry).writes.some(({ path }) => path === asked.path));
}

function factsOf({ named, asked, progress }: RotationSubject, held: Held, { cache }: LoopEnv): PhaserInput {
  return {
    asked,
    progress,
    ...held,
    consumers: stayingConsumers(named.tenant, asked.path, cache),
    holders: listHolders(named.tenant, asked.path, cache),
  };
}

/** What it must wait for instead, if anything. */
async function changeSecret(
  step: Extract<PhaserStep, { readonly kind: 'mint' | 'turn' | 'destroy' }>,
  secrets: SecretStore,
  { named, asked }: RotationSubject,
  env: LoopEnv,
): Promise<string | undefined> {
  const path = toCredentialPath(named.tenant, asked.path);
  const about = { tenant: named.tenant, key: named.name };
  if (step.kind === 'mint') {
    const kind = await mintMaterial(secrets, path, asked, env.random);
    if (kind === 'written') env.log.info('new material staged', { ...about, version: `${asked.to}` });
    return kind === 'forbidden' ? FORBIDDEN : undefined;
  }
  const version = step.kind === 'turn' ? step.to : step.version;
  const outcome = await (step.kind === 'turn' ? secrets.promote(path, version) : secrets.destroy(path, version));
  if (outcome.kind === 'forbidden') return FORBIDDEN;
  if (outcome.kind === 'missing') return GONE;
  env.log.info('secret version changed', { ...about, because: step.kind, version: `${version}` });
  return undefined;
}

async function raiseOne(
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
  env.log.info('secrets version raised', { tenant: subject.named.tenant, deployment: consumer.name, because: ledger });
}

async function turnBack(subject: RotationSubject, env: LoopEnv): Promise<void> {
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

async function holds(subject: RotationSubject, env: LoopEnv): Promise<ReconcileResult> {
  const isStaged = subject.asked.phase === 'stage' || subject.progress?.staged === true;
  const next = toProgress(subject, env, { holds: true, staged: isStaged });
  failpoint('rotation.holding');
  await env.commit(recordProgress(subject, next, { puts: [await buildPhaseEvent(subject, env)] }));
  failpoint('rotation.held');
  env.log.info('a phase of a rotation is complete', {
    tenant: subject.named.tenant,
    key: subject.named.name,
    because: subject.asked.phase,
  });
  return done;
}
