import type { StoredDeployment } from '../../crds/deployment/index.js';
import { parseSecretPath } from '../../crds/grammar/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { reject } from '../../crds/rejections/index.js';
import { checkRotation, overtaken, type RotationFacts, type RotationStep } from '../../crds/rotation/index.js';
import { failpoint } from '../../pkg/failpoint/index.js';
import type { SecretIntent } from '../../pkg/material/index.js';
import { type Change, encode, type Entry, value } from '../../pkg/store/index.js';
import { secretSubject, turnGuards, turnPuts } from '../admission/turns.js';
import { attempts } from '../attempts.js';
import type { Call } from '../call.js';
import type { ApiEnv } from '../env.js';
import { refuseUnlessMatches } from '../if-match.js';
import { flagIn, WRITE_QUERY } from '../query.js';
import { Refused } from '../refusal.js';
import { json } from '../reply.js';
import type { Outcome, Route } from '../route.js';
import { trialReply } from '../trial/trial.js';
import { untilShown } from '../until-shown.js';
import { rotationOf, rotationView, type StoredRotation } from '../views/rotation.js';
import { findDeployment } from './find-deployment.js';
import { askedFor, isPromiseBroken, supply } from './rotation-material.js';

const ROTATION = '/api/v1/deployments/{name}/secrets';

/** Rotations: a phase is asked for here, and carried out by the rotation phaser. */
export function rotationRoutes(env: ApiEnv): readonly Route[] {
  return [
    {
      method: 'GET',
      path: `${ROTATION}/rotation`,
      access: { tenant: 'viewer', admin: true },
      tenant: 'own',
      query: ['secret'],
      body: 'none',
      handle: call => showRotation(env, call),
    },
    {
      method: 'POST',
      path: `${ROTATION}/rotate`,
      access: { tenant: 'deployer', admin: true },
      tenant: 'own',
      query: WRITE_QUERY,
      body: 'json',
      handle: call => attempts(call.params['name']!, () => rotateOnce(env, call)),
    },
  ];
}

async function showRotation({ cache }: ApiEnv, { tenant, params, query }: Call): Promise<Outcome> {
  await cache.barrier();
  const entry = findDeployment(cache, tenant, params['name']!);
  if (entry instanceof Refused) return entry;
  const deployment = value<StoredDeployment>(entry);
  const paths = pathsOf(deployment);
  const all = [...paths].map(([label, path]) => rotationOf(cache, tenant, label, path));
  const named = query.get('secret');
  const chosen = named === undefined ? (all.find(isUnderWay) ?? all[0]) : all.find(({ label }) => label === named);
  if (!chosen) {
    const wanted = paths.size === 0 ? 'a deployment that refers to a secret' : `one of ${[...paths.keys()].join(', ')}`;
    return new Refused(reject('field_invalid', 'secret', named ?? '', { wanted }));
  }
  return json(200, rotationView(cache, deployment, chosen));
}

function isUnderWay({ asked, standing }: StoredRotation): boolean {
  return asked !== undefined && (standing.state !== 'retire' || standing.waitsFor !== undefined);
}

/** Where the credentials of a deployment lie, by label. */
function pathsOf({ secrets = [] }: StoredDeployment): ReadonlyMap<string, string> {
  return new Map(secrets.map(({ vault_path: path }) => [parseSecretPath(path)?.label ?? path, path]));
}

/** Undefined when somebody else was first. */
async function rotateOnce(env: ApiEnv, call: Call): Promise<Outcome | undefined> {
  const isTrial = flagIn(call.query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  await env.cache.barrier();
  const entry = findDeployment(env.cache, call.tenant, call.params['name']!);
  if (entry instanceof Refused) return entry;
  const deployment = value<StoredDeployment>(entry);
  const rotation = namedRotation(env, call, deployment);
  const refused = refuseUnlessMatches(call.request.headers['if-match'], undefined, entry.revision);
  if (refused) return refused;
  // The rule knows no abort of what is idle again; one that was asked for already is repeated without harm.
  if (isAbort(call.document) && rotation?.asked?.phase === 'abort') return answer(env, deployment, rotation);

  const facts = factsOf(deployment, rotation);
  const checked = checkRotation(call.document, facts, env.deploymentLimits.secrets);
  if (!checked.ok) return new Refused(checked.rejections);
  if (deployment.metadata.deletedAt !== undefined) {
    return new Refused(reject('deployment_being_deleted', 'name', deployment.name));
  }
  const advanced = { entry, deployment, rotation: rotation!, step: checked.value };
  return isTrial ? tried(env, advanced) : advance(env, call, advanced);
}

interface Advance {
  readonly entry: Entry;
  readonly deployment: StoredDeployment;
  readonly rotation: StoredRotation;
  readonly step: RotationStep;
}

async function advance(env: ApiEnv, call: Call, given: Advance): Promise<Outcome | undefined> {
  const { deployment, rotation, step } = given;
  const { tenant } = call;
  if (step.phase === 'stage' && (!step.isRepeat || (await isPromiseBroken(env, tenant, rotation)))) {
    const turns = [keys.turn(tenant, secretSubject(rotation.label))];
    return env.turnstile.pass(turns, () => begin(env, call, given, turns));
  }
  if (!step.isRepeat) return ask(env, call, given);
  const isOwed = step.values && rotation.asked?.material.by === 'caller' && rotation.standing.waitsFor !== undefined;
  const refused = isOwed && (await supply(env, tenant, rotation.asked, step));
  return refused || answer(env, deployment, rotation);
}

/** A rotation begins when nobody else writes: whatever was judged by the credential before it is judged afresh. */
async function begin(env: ApiEnv, call: Call, given: Advance, turns: readonly string[]): Promise<Outcome | undefined> {
  await env.cache.barrier();
  const guards = turnGuards(env.cache, turns);
  const intents = env.cache.list(ranges.of(ranges.intents, call.tenant)).map(entry => value<SecretIntent>(entry));
  if (intents.some(({ writes }) => writes.some(({ path }) => path === given.rotation.path))) {
    return new Refused(overtaken('stage', { state: 'idle', waitsFor: 'a write that is under way has ended' }));
  }
  return ask(env, call, given, { guards, puts: turnPuts(turns, call.requestId, await env.eventLeases.current()) });
}

const ALONE: Pick<Change, 'guards' | 'puts'> = { guards: [], puts: [] };

async function ask(
  env: ApiEnv,
  call: Call,
  { entry, deployment, rotation, step }: Advance,
  turn = ALONE,
): Promise<Outcome | undefined> {
  const { tenant } = call;
  const asked = await askedFor(env, call, { deployment, rotation, step });
  if (asked instanceof Refused) return asked;
  const key = keys.rotation(tenant, rotation.label);
  failpoint('rotation.asking');
  const verdict = await env.store.commit({
    guards: [{ key, at: rotation.entry?.revision ?? 0 }, { key: entry.key, created: entry.created }, ...turn.guards],
    puts: [{ key, bytes: encode(asked) }, ...turn.puts],
    deletes: [],
  });
  if (!verdict.stored) return undefined;
  failpoint('rotation.asked');
  await untilShown(env.cache, verdict.revision);
  const isOurs = step.phase === 'stage' && asked.material.by === 'caller';
  const refused = isOurs && (await supply(env, tenant, asked, step));
  return refused || answer(env, deployment, rotationOf(env.cache, tenant, rotation.label, rotation.path));
}

function answer({ cache }: ApiEnv, deployment: StoredDeployment, rotation: StoredRotation): Outcome {
  return json(200, { ...rotationView(cache, deployment, rotation), alterations: [], warnings: [] });
}

function tried({ cache }: ApiEnv, { deployment, rotation, step }: Advance): Outcome {
  const before = rotationView(cache, deployment, rotation);
  return trialReply({ before, after: { ...before, phase: step.phase, holds: step.isRepeat && before.holds } });
}

/** The rotation of the credential that the request names, or of the only one there is. */
function namedRotation({ cache }: ApiEnv, { document, tenant }: Call, deployment: StoredDeployment) {
  const paths = pathsOf(deployment);
  const named = (document as { readonly secret?: unknown } | null)?.secret;
  const label = named === undefined && paths.size === 1 ? [...paths.keys()][0] : named;
  const path = typeof label === 'string' ? paths.get(label) : undefined;
  return path === undefined ? undefined : rotationOf(cache, tenant, label as string, path);
}

function isAbort(document: unknown): boolean {
  return (document as { readonly phase?: unknown } | null)?.phase === 'abort';
}

function factsOf(deployment: StoredDeployment, rotation: StoredRotation | undefined): RotationFacts {
  const labelOf = (path: string) => parseSecretPath(path)?.label ?? path;
  const external = (deployment.secrets ?? []).filter(({ anchor }) => anchor === 'external');
  return {
    ...(rotation?.standing ?? { state: 'idle' }),
    labels: [...pathsOf(deployment).keys()],
    external: external.map(({ vault_path }) => labelOf(vault_path)),
  };
}
