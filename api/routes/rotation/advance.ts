import { keys, ranges } from '../../../crds/keys/index.js';
import {
  checkRotation,
  rejectOvertakenStep,
  ROTATION_PHASER,
  type RotationRecord,
} from '../../../crds/rotation/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import { failpoint } from '../../../pkg/failpoint/index.js';
import { asError, Fault } from '../../../pkg/fault/index.js';
import type { SecretIntent } from '../../../pkg/material/index.js';
import { type SecretDocument, SecretOutcomeUnknownFault, toCredentialPath } from '../../../pkg/secrets/index.js';
import { type Change, encode, value } from '../../../pkg/store/index.js';
import { rejectNamespace } from '../../write/material.js';
import { guardConflictKeys, putConflictKeys, toSecretSubject } from '../../admission/conflict-keys.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { readRotation } from '../../admission/rotations.js';
import { waitUntilCached } from '../../write/committer.js';
import { replyJson, RequestRejection } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';
import {
  announceMinted,
  isVersionTaken,
  mergeMaterial,
  planStart,
  type RotationStart,
  stageDocument,
  warnIgnoredMaterial,
} from './material.js';
import { readRotationFacts, type RotationRequest, toRotationView } from './view.js';

/** Stores the requested phase and stages its material. Undefined when a concurrent write was stored first. */
export async function advanceRotation(
  env: AdmissionEnv,
  call: ApiCall,
  request: RotationRequest,
): Promise<RouteResult | undefined> {
  const { rotation, step } = request;
  if (await isStart(env, call, request)) {
    const conflictKeys = [keys.conflict(call.tenant, toSecretSubject(rotation.label))];
    return env.mutex.run(conflictKeys, () => startRotation(env, call, request, conflictKeys));
  }
  if (step.isRepeat) return repeatPhase(env, call, request);
  const record: RotationRecord = { ...rotation.record!, ...createStamp(env, call, request), phase: step.phase };
  return (await storeRequest(env, call, request, record)) ? answer(env, call, request) : undefined;
}

/** Answers what requesting a phase would do. */
export async function dryRunAdvance(env: AdmissionEnv, call: ApiCall, request: RotationRequest): Promise<RouteResult> {
  const { deployment, rotation, step } = request;
  const isStarting = await isStart(env, call, request);
  const start = isStarting ? await checkStart(env, call, request) : undefined;
  if (start instanceof RequestRejection) return start;
  const before = toRotationView(env.cache, deployment, rotation);
  const isSame = step.isRepeat && !isStarting;
  const after = isSame ? before : { ...before, phase: step.phase, holds: false };
  return replyDryRun({ before, after, alterations: announceMinted(start?.minted) });
}

async function isStart(env: AdmissionEnv, { tenant }: ApiCall, { rotation, step }: RotationRequest): Promise<boolean> {
  return step.phase === 'stage' && (!step.isRepeat || (await isVersionTaken(env, tenant, rotation)));
}

/** A rotation starts under the conflict key of its credential: writes that were judged before it are judged again. */
async function startRotation(
  env: AdmissionEnv,
  call: ApiCall,
  request: RotationRequest,
  conflictKeys: readonly string[],
): Promise<RouteResult | undefined> {
  await env.cache.barrier();
  const guards = guardConflictKeys(env.cache, conflictKeys);
  const start = await checkStart(env, call, request);
  if (start instanceof RequestRejection) return start;
  const { document, minted, ...versions } = start;
  const { path } = request.rotation;
  const stamp = createStamp(env, call, request);
  const record: RotationRecord = { id: env.random.uuid(), path, phase: 'stage', ...versions, ...stamp };
  const puts = await putConflictKeys(env.conflictLeases, conflictKeys, call.requestId);
  if (!(await storeRequest(env, call, request, record, { guards, puts }))) return undefined;
  const warnings = document ? await stageValues(env, call, record, document) : [];
  return answer(env, call, request, warnings, { alterations: announceMinted(minted), isStaged: warnings.length === 0 });
}

/** A rotation that starts again is checked like a first `stage`. */
async function checkStart(
  env: AdmissionEnv,
  call: ApiCall,
  request: RotationRequest,
): Promise<RotationStart | RequestRejection> {
  const { deployment, rotation } = request;
  const facts = readRotationFacts(env.cache, deployment, { record: undefined, status: { state: 'idle' } });
  const checked = checkRotation(call.document, facts, env.deploymentLimits.secrets);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const intents = env.cache.list(ranges.of(ranges.intents, call.tenant)).map(entry => value<SecretIntent>(entry));
  if (intents.some(({ writes }) => writes.some(({ path }) => path === rotation.path))) {
    return new RequestRejection(
      rejectOvertakenStep('stage', { state: 'idle', waitsFor: 'the end of a write that is under way' }),
    );
  }
  return planStart(env, call.tenant, { rotation, step: checked.value });
}

const ALONE: Pick<Change, 'guards' | 'puts'> = { guards: [], puts: [] };

/** False when a concurrent write was stored first. */
async function storeRequest(
  env: AdmissionEnv,
  { tenant }: ApiCall,
  { entry, rotation }: RotationRequest,
  record: RotationRecord,
  conflict = ALONE,
): Promise<boolean> {
  const key = keys.rotation(tenant, rotation.label);
  failpoint('rotation.asking');
  const verdict = await env.store.commit({
    guards: [
      { key, at: rotation.entry?.revision ?? 0 },
      { key: entry.key, created: entry.created },
      ...conflict.guards,
    ],
    puts: [{ key, bytes: encode(record) }, ...conflict.puts],
    deletes: [],
  });
  if (!verdict.stored) return false;
  failpoint('rotation.asked');
  await waitUntilCached(env.cache, verdict.revision);
  return true;
}

const NOT_STAGED: readonly Warning[] = [
  {
    code: 'rotation_values_not_staged',
    field: 'values',
    message: 'the rotation has started, but its values could not be staged; send stage with the values again',
  },
];

/** Stages values for a stored rotation: a failure is only a warning, since the rotation itself is stored. */
async function stageValues(
  env: AdmissionEnv,
  { tenant, requestId }: ApiCall,
  record: RotationRecord,
  document: SecretDocument,
): Promise<readonly Warning[]> {
  try {
    return (await stageDocument(env, tenant, record, document)) === 'written' ? [] : NOT_STAGED;
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown instanceof SecretOutcomeUnknownFault) throw thrown;
    env.log.warn('values of a rotation could not be staged', {
      requestId,
      tenant,
      key: record.path,
      error: asError(thrown),
    });
    return NOT_STAGED;
  }
}

/** The current phase again changes nothing, unless it brings values that are still missing. */
async function repeatPhase(env: AdmissionEnv, call: ApiCall, request: RotationRequest): Promise<RouteResult> {
  const { rotation, step } = request;
  if (!step.values && !step.generation) return answer(env, call, request);
  const record = rotation.record!;
  const path = toCredentialPath(call.tenant, record.path);
  const reading = await env.secrets.read(path, record.to);
  if (reading.kind === 'forbidden') return rejectNamespace(env, path);
  const isMissing = reading.kind === 'missing' && record.material.by === 'caller' && step.values !== undefined;
  if (!isMissing) {
    const document = reading.kind === 'found' ? reading.document : undefined;
    return answer(env, call, request, warnIgnoredMaterial(step, record, document));
  }
  const document = await mergeMaterial(env, call.tenant, record, step);
  if (document instanceof RequestRejection) return document;
  const staged = await stageDocument(env, call.tenant, record, document);
  if (staged === 'forbidden') return rejectNamespace(env, path);
  return answer(env, call, request, staged === 'written' ? [] : NOT_STAGED);
}

function createStamp({ clock }: AdmissionEnv, { caller }: ApiCall, { deployment }: RotationRequest) {
  return { by: caller.id, askedAt: new Date(clock.now()).toISOString(), deployment: deployment.name };
}

function answer(
  { cache }: AdmissionEnv,
  { tenant }: ApiCall,
  { deployment, rotation: { label, path } }: RotationRequest,
  warnings: readonly Warning[] = [],
  { alterations = [], isStaged = false }: { alterations?: readonly Alteration[]; isStaged?: boolean } = {},
): RouteResult {
  const view = toRotationView(cache, deployment, readRotation(cache, tenant, label, path));
  // The phaser may have looked before the values of this request were written.
  const seen = isStaged && view.waitsFor !== null ? { ...view, waitsFor: ROTATION_PHASER } : view;
  return replyJson(200, { ...seen, alterations, warnings });
}
