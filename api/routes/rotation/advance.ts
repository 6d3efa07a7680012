import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import {
  checkRotation,
  rejectOvertakenStep,
  ROTATION_PHASER,
  type RotationRecord,
} from '../../../crds/rotation/index.js';
import type { Warning } from '../../../crds/rule/index.js';
import { asError, Fault } from '../../../pkg/fault/index.js';
import type { SecretIntent } from '../../../pkg/material/index.js';
import { type SecretDocument, SecretOutcomeUnknownFault, toCredentialPath } from '../../../pkg/secrets/index.js';
import { type Cache, encode, value } from '../../../pkg/store/index.js';
import { toSecretSubject } from '../../admission/conflict-keys.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { readRotation } from '../../admission/rotations.js';
import { isFields } from '../../http/body.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import type { ApiCall } from '../../http/route.js';
import { rejectNamespace } from '../../write/material.js';
import type { FactsInput, Writing } from '../../write/write.js';
import { findDeployment } from '../deployment/view.js';
import {
  announceMinted,
  isVersionTaken,
  mergeMaterial,
  planStart,
  type RotationStart,
  stageDocument,
  warnIgnoredMaterial,
} from './material.js';
import { listSecretPathsByLabel, readRotationFacts, type RotationRequest, toRotationView } from './view.js';

/** A phase that was asked for, and what the secrets store has to say of it. */
interface AskedPhase extends RotationRequest {
  /** The rotation begins, or begins again. */
  readonly start: RotationStart | undefined;
}

/** The next phase of a rotation: what is to be stored of it; undefined where it is under way already. */
type NextRecord = RotationRecord | undefined;

/**
 * Stores the requested phase, and stages its material then. A rotation starts under the conflict key of its credential: writes that
 * were judged before it are judged again.
 */
export const advance: Writing<AdmissionEnv, AskedPhase, NextRecord> = {
  name: 'rotation',
  points: ['rotation.asking', 'rotation.asked'],
  find: ({ cache }, { tenant, params }) => findDeployment(cache, tenant, params['name']!),
  conflictKeys: ({ cache }, call, entry) => {
    const rotation = findRotation(cache, call, value<StoredDeployment>(entry!));
    const mayStart = isFields(call.document) && call.document['phase'] === 'stage';
    return rotation && mayStart ? [keys.conflict(call.tenant, toSecretSubject(rotation.label))] : [];
  },
  facts: readPhase,
  judge: ({ call, now, random, facts: { deployment, rotation, step, start } }) => {
    const stamp = { by: call.caller.id, askedAt: now, deployment: deployment.name };
    if (start) {
      const { document: _, minted: __, ...versions } = start;
      return { id: random.uuid(), path: rotation.path, phase: 'stage', ...versions, ...stamp };
    }
    return step.isRepeat ? undefined : { ...rotation.record!, ...stamp, phase: step.phase };
  },
  plan: ({ call: { tenant }, stored, facts: { deployment, rotation, step, start } }, record, { cache }) => {
    const before = toRotationView(cache, deployment, rotation);
    const alterations = announceMinted(start?.minted);
    const shown = stored;
    if (!record) return { before, after: before, alterations, shown };
    return {
      record: { key: keys.rotation(tenant, rotation.label), bytes: encode(record) },
      over: rotation.entry,
      before,
      after: { ...before, phase: step.phase, holds: false },
      alterations,
      shown,
    };
  },
  afterwards: (env, { call, facts }, record) => {
    const { document } = facts.start ?? {};
    if (!record) return supplyMissing(env, call, facts);
    return document ? stageValues(env, call, record, document) : Promise.resolve([]);
  },
  show: ({ cache }, _written, { call: { tenant }, facts: { deployment, rotation, start } }, _record, late) => {
    const view = toRotationView(cache, deployment, readRotation(cache, tenant, rotation.label, rotation.path));
    // The phaser may have looked before the values of this request were written.
    const isStaged = start?.document !== undefined && late.length === 0;
    return isStaged && view.waitsFor !== null ? { ...view, waitsFor: ROTATION_PHASER } : view;
  },
};

/** The rotation of the credential that the request names, or of the only one there is. */
function findRotation(cache: Cache, { document, tenant }: ApiCall, deployment: StoredDeployment) {
  const paths = listSecretPathsByLabel(deployment);
  const named = isFields(document) ? document['secret'] : undefined;
  const label = named === undefined && paths.size === 1 ? [...paths.keys()][0] : named;
  const path = typeof label === 'string' ? paths.get(label) : undefined;
  return path === undefined ? undefined : readRotation(cache, tenant, label as string, path);
}

async function readPhase(
  env: AdmissionEnv,
  call: ApiCall,
  { stored }: FactsInput,
): Promise<AskedPhase | RequestRejection> {
  const deployment = value<StoredDeployment>(stored!);
  const rotation = findRotation(env.cache, call, deployment);
  const facts = readRotationFacts(env.cache, deployment, rotation);
  const checked = checkRotation(call.document, facts, env.deploymentLimits.secrets);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  if (deployment.metadata.deletedAt !== undefined) {
    return rejectRequest('deployment_being_deleted', 'name', deployment.name);
  }
  const request = { deployment, rotation: rotation!, step: checked.value };
  const { phase, isRepeat } = checked.value;
  const isStart = phase === 'stage' && (!isRepeat || (await isVersionTaken(env, call.tenant, request.rotation)));
  const start = isStart ? await checkStart(env, call, request) : undefined;
  return start instanceof RequestRejection ? start : { ...request, start };
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
async function supplyMissing(
  env: AdmissionEnv,
  call: ApiCall,
  { rotation, step }: RotationRequest,
): Promise<readonly Warning[] | RequestRejection> {
  if (!step.values && !step.generation) return [];
  const record = rotation.record!;
  const path = toCredentialPath(call.tenant, record.path);
  const reading = await env.secrets.read(path, record.to);
  if (reading.kind === 'forbidden') return rejectNamespace(env, path);
  const isMissing = reading.kind === 'missing' && record.material.by === 'caller' && step.values !== undefined;
  if (!isMissing) return warnIgnoredMaterial(step, record, reading.kind === 'found' ? reading.document : undefined);
  const document = await mergeMaterial(env, call.tenant, record, step);
  if (document instanceof RequestRejection) return document;
  const staged = await stageDocument(env, call.tenant, record, document);
  if (staged === 'forbidden') return rejectNamespace(env, path);
  return staged === 'written' ? [] : NOT_STAGED;
}
