import { keys, ranges } from '../../../crds/keys/index.js';
import { checkRotation, rejectOvertakenStep, type RotationRecord } from '../../../crds/rotation/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import { failpoint } from '../../../pkg/failpoint/index.js';
import { asError, Fault } from '../../../pkg/fault/index.js';
import type { SecretIntent } from '../../../pkg/material/index.js';
import { toCredentialPath, type SecretDocument, SecretOutcomeUnknownFault } from '../../../pkg/secrets/index.js';
import { type Change, encode, value } from '../../../pkg/store/index.js';
import { forbidden } from '../../admission/commit.js';
import { secretSubject, turnGuards, turnPuts } from '../../admission/conflict-keys.js';
import { trialReply } from '../../admission/dry-run.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { untilShown } from '../../http/concurrency.js';
import { Refused } from '../../http/rejection.js';
import { json } from '../../http/reply.js';
import type { Outcome } from '../../http/route.js';
import { type Beginning, beginningOf, ignoredIn, isPromiseBroken, stagedOver, supply } from './material.js';
import { rotationOf } from '../../admission/rotations.js';
import { type Asking, factsOf, rotationView } from './view.js';

/** Stores that a phase is asked for, and stages what came with it. Undefined when somebody else was first. */
export async function advance(env: ApiEnv, call: Call, asking: Asking): Promise<Outcome | undefined> {
  const { rotation, step } = asking;
  if (await isBeginning(env, call, asking)) {
    const turns = [keys.turn(call.tenant, secretSubject(rotation.label))];
    return env.turnstile.pass(turns, () => begin(env, call, asking, turns));
  }
  if (step.isRepeat) return repeat(env, call, asking);
  const asked: RotationRecord = { ...rotation.asked!, ...stampOf(env, call, asking), phase: step.phase };
  return (await store(env, call, asking, asked)) ? answer(env, call, asking) : undefined;
}

/** What asking for a phase would come to. */
export async function tryAdvance(env: ApiEnv, call: Call, asking: Asking): Promise<Outcome> {
  const { deployment, rotation, step } = asking;
  const begins = await isBeginning(env, call, asking);
  const beginning = begins ? await judgedBeginning(env, call, asking) : undefined;
  if (beginning instanceof Refused) return beginning;
  const before = rotationView(env.cache, deployment, rotation);
  const isSame = step.isRepeat && !begins;
  return trialReply({ before, after: isSame ? before : { ...before, phase: step.phase, holds: false } });
}

async function isBeginning(env: ApiEnv, { tenant }: Call, { rotation, step }: Asking): Promise<boolean> {
  return step.phase === 'stage' && (!step.isRepeat || (await isPromiseBroken(env, tenant, rotation)));
}

/** A rotation begins when nobody else writes: whatever was judged by the credential before it is judged afresh. */
async function begin(env: ApiEnv, call: Call, asking: Asking, turns: readonly string[]): Promise<Outcome | undefined> {
  await env.cache.barrier();
  const guards = turnGuards(env.cache, turns);
  const beginning = await judgedBeginning(env, call, asking);
  if (beginning instanceof Refused) return beginning;
  const { document, ...promised } = beginning;
  const { path } = asking.rotation;
  const stamp = stampOf(env, call, asking);
  const asked: RotationRecord = { id: env.random.uuid(), path, phase: 'stage', ...promised, ...stamp };
  const puts = turnPuts(turns, call.requestId, await env.eventLeases.current());
  if (!(await store(env, call, asking, asked, { guards, puts }))) return undefined;
  return answer(env, call, asking, document ? await supplyStored(env, call, asked, document) : []);
}

/** What begins anew owes all that a first `stage` owes. */
async function judgedBeginning(env: ApiEnv, call: Call, asking: Asking): Promise<Beginning | Refused> {
  const { deployment, rotation } = asking;
  const facts = factsOf(env.cache, deployment, { asked: undefined, standing: { state: 'idle' } });
  const checked = checkRotation(call.document, facts, env.deploymentLimits.secrets);
  if (!checked.ok) return new Refused(checked.rejections);
  const intents = env.cache.list(ranges.of(ranges.intents, call.tenant)).map(entry => value<SecretIntent>(entry));
  if (intents.some(({ writes }) => writes.some(({ path }) => path === rotation.path))) {
    return new Refused(
      rejectOvertakenStep('stage', { state: 'idle', waitsFor: 'a write that is under way has ended' }),
    );
  }
  return beginningOf(env, call.tenant, { rotation, step: checked.value });
}

const ALONE: Pick<Change, 'guards' | 'puts'> = { guards: [], puts: [] };

/** False when somebody else was first. */
async function store(
  env: ApiEnv,
  { tenant }: Call,
  { entry, rotation }: Asking,
  asked: RotationRecord,
  turn = ALONE,
): Promise<boolean> {
  const key = keys.rotation(tenant, rotation.label);
  failpoint('rotation.asking');
  const verdict = await env.store.commit({
    guards: [{ key, at: rotation.entry?.revision ?? 0 }, { key: entry.key, created: entry.created }, ...turn.guards],
    puts: [{ key, bytes: encode(asked) }, ...turn.puts],
    deletes: [],
  });
  if (!verdict.stored) return false;
  failpoint('rotation.asked');
  await untilShown(env.cache, verdict.revision);
  return true;
}

const OWED: readonly Warning[] = [
  {
    code: 'rotation_values_not_staged',
    field: 'values',
    message: 'the rotation has begun, but the values could not be staged: send stage with them again',
  },
];

/** Stages values for a rotation that is stored: what fails now is owed, and no reason to say that nothing was stored. */
async function supplyStored(
  env: ApiEnv,
  { tenant, requestId }: Call,
  asked: RotationRecord,
  document: SecretDocument,
): Promise<readonly Warning[]> {
  try {
    return (await supply(env, tenant, asked, document)) === 'written' ? [] : OWED;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown instanceof SecretOutcomeUnknownFault) throw thrown;
    env.log.warn('the values of a rotation could not be staged', {
      requestId,
      tenant,
      key: asked.path,
      error: asError(thrown),
    });
    return OWED;
  }
}

/** The present phase again changes nothing, unless it brings values that are still owed. */
async function repeat(env: ApiEnv, call: Call, asking: Asking): Promise<Outcome> {
  const { rotation, step } = asking;
  if (!step.values && !step.generation) return answer(env, call, asking);
  const asked = rotation.asked!;
  const path = toCredentialPath(call.tenant, asked.path);
  const reading = await env.secrets.read(path, asked.to);
  if (reading.kind === 'forbidden') return forbidden(env, path);
  const isOwed = reading.kind === 'missing' && asked.material.by === 'caller' && step.values !== undefined;
  if (!isOwed) {
    const staged = reading.kind === 'found' ? reading.document : undefined;
    return answer(env, call, asking, ignoredIn(step, asked, staged));
  }
  const document = await stagedOver(env, call.tenant, asked, step);
  if (document instanceof Refused) return document;
  const supplied = await supply(env, call.tenant, asked, document);
  if (supplied === 'forbidden') return forbidden(env, path);
  return answer(env, call, asking, supplied === 'written' ? [] : OWED);
}

function stampOf({ clock }: ApiEnv, { caller }: Call, { deployment }: Asking) {
  return { by: caller.id, askedAt: new Date(clock.now()).toISOString(), deployment: deployment.name };
}

function answer(
  { cache }: ApiEnv,
  { tenant }: Call,
  { deployment, rotation: { label, path } }: Asking,
  warnings: readonly Warning[] = [],
): Outcome {
  const view = rotationView(cache, deployment, rotationOf(cache, tenant, label, path));
  return json(200, { ...view, alterations: [], warnings });
}
