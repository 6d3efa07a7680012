import { isDeepStrictEqual } from 'node:util';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { keys } from '../../crds/keys/index.js';
import type { AskedRotation, RotationProgress } from '../../crds/rotation/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import { again, done, type LoopEnv, type Next, type Reconcile } from '../../pkg/reconcile/index.js';
import {
  credentialPath,
  SecretOutcomeUnknownFault,
  type SecretState,
  type SecretStore,
  SecretStoreUnavailableFault,
} from '../../pkg/secrets/index.js';
import { value } from '../../pkg/store/index.js';
import { consumersOf, holdersOf, namedBy } from '../reading/index.js';
import { advanced, progressOf, raise, record, type Subject } from './changes.js';
import { nextRotationStep, type RotationFacts, type RotationStep } from './decide.js';
import { mint } from './mint.js';

const RETRY_MS = 2_000;
const FORBIDDEN = 'the policy of the secrets store grants it';

/**
 * Does the next step of one rotation, or says what it waits for. Each step leaves something that wakes it again, or is
 * followed by another look at once: the secrets store announces nothing.
 */
export function phaseOne(secrets: SecretStore): Reconcile {
  return async (key, env) => {
    for (;;) {
      const subject = subjectOf(key, env);
      if (!subject || isOver(subject)) return done;
      let step: RotationStep;
      try {
        const versions = await versionsOf(secrets, subject);
        if (!versions) return await waitFor(subject, FORBIDDEN, env, RETRY_MS);
        step = nextRotationStep(factsOf(subject, versions, env));
        if (step.kind === 'mint' || step.kind === 'turn' || step.kind === 'destroy') {
          failpoint('rotation.secret_changing');
          const isGranted = await changeSecret(step, secrets, subject, env);
          failpoint('rotation.secret_changed');
          if (!isGranted) return await waitFor(subject, FORBIDDEN, env, RETRY_MS);
          if (step.kind === 'destroy') return await holds(subject, env);
          continue;
        }
      } catch (thrown) {
        const isAway = thrown instanceof SecretStoreUnavailableFault || thrown instanceof SecretOutcomeUnknownFault;
        if (!isAway) throw thrown;
        return await waitFor(subject, 'the secrets store can be reached', env, RETRY_MS);
      }
      // Nobody tells when somebody else writes to the secrets store, and a stage waits for nothing else.
      const lookAgainMs = subject.asked.phase === 'stage' ? RETRY_MS : undefined;
      if (step.kind === 'wait') return await waitFor(subject, step.for, env, lookAgainMs);
      if (step.kind === 'hold') return await holds(subject, env);
      await raiseOne(step, subject, env);
    }
  };
}

function subjectOf(key: string, { cache }: LoopEnv): Subject | undefined {
  const named = namedBy(key);
  const entry = cache.get(keys.rotation(named.tenant, named.name));
  if (!entry) return undefined;
  const asked = value<AskedRotation>(entry);
  const recorded = cache.get(keys.rotationProgress(named.tenant, named.name));
  const progress = recorded && value<RotationProgress>(recorded);
  return { named, asked, recorded, progress: progress?.id === asked.id ? progress : undefined };
}

/** A phase that holds stays so: what happens later is the next phase's business. */
function isOver({ asked, progress }: Subject): boolean {
  return progress?.phase === asked.phase && progress.holds;
}

/** Undefined when the platform may not touch the credential. */
async function versionsOf(secrets: SecretStore, { named, asked }: Subject): Promise<SecretState | undefined> {
  const reading = await secrets.state(credentialPath(named.tenant, asked.path));
  if (reading.kind === 'forbidden') return undefined;
  return reading.kind === 'found' ? reading.state : { last: 0 };
}

function factsOf({ named, asked, progress }: Subject, versions: SecretState, { cache }: LoopEnv): RotationFacts {
  const consumers = consumersOf(named.tenant, asked.path, cache).map(entry => value<StoredDeployment>(entry));
  return {
    asked,
    progress,
    versions,
    consumers: consumers.filter(({ metadata }) => metadata.deletedAt === undefined),
    holders: holdersOf(named.tenant, asked.path, cache),
  };
}

/** False when it is forbidden. */
async function changeSecret(
  step: Extract<RotationStep, { readonly kind: 'mint' | 'turn' | 'destroy' }>,
  secrets: SecretStore,
  { named, asked }: Subject,
  env: LoopEnv,
): Promise<boolean> {
  const path = credentialPath(named.tenant, asked.path);
  const about = { tenant: named.tenant, key: named.name };
  if (step.kind === 'mint') {
    const kind = await mint(secrets, path, asked, env.random);
    env.log.info('new material staged', { ...about, because: kind });
    return kind !== 'forbidden';
  }
  const outcome = await (step.kind === 'turn' ? secrets.promote(path, step.to) : secrets.destroy(path, step.version));
  env.log.info('secret version changed', {
    ...about,
    because: step.kind,
    count: step.kind === 'turn' ? step.to : step.version,
  });
  return outcome.kind !== 'forbidden';
}

async function raiseOne(
  { consumer, ledger }: Extract<RotationStep, { readonly kind: 'raise' }>,
  subject: Subject,
  env: LoopEnv,
): Promise<void> {
  const entry = env.cache.get(keys.deployment(subject.named.tenant, consumer.name))!;
  failpoint('rotation.raising');
  await env.commit(await raise(subject, ledger, { entry, deployment: value<StoredDeployment>(entry) }, env));
  failpoint('rotation.raised');
  env.log.info('secrets version raised', { tenant: subject.named.tenant, deployment: consumer.name, because: ledger });
}

async function waitFor(subject: Subject, waitsFor: string, env: LoopEnv, lookAgainMs?: number): Promise<Next> {
  const next = progressOf(subject, env, { waitsFor });
  const { progress } = subject;
  if (!progress || !isDeepStrictEqual({ ...next, at: progress.at }, progress)) {
    failpoint('rotation.waiting');
    await env.commit(record(subject, next));
    failpoint('rotation.waited');
  }
  return lookAgainMs === undefined ? done : again(lookAgainMs, waitsFor);
}

async function holds(subject: Subject, env: LoopEnv): Promise<Next> {
  const isStaged = subject.asked.phase === 'stage' || subject.progress?.staged === true;
  const next = progressOf(subject, env, { holds: true, staged: isStaged });
  failpoint('rotation.holding');
  await env.commit(record(subject, next, { puts: [await advanced(subject, env)] }));
  failpoint('rotation.held');
  env.log.info('a phase of a rotation holds', {
    tenant: subject.named.tenant,
    key: subject.named.name,
    because: subject.asked.phase,
  });
  return done;
}
