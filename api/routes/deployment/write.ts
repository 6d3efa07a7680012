/**
 * How deployments are written: created, replaced, brought back and deleted. They differ in the document, and in what comes with it.
 *
 * @module
 */
import {
  admitCreate,
  admitUpdate,
  type Deployment,
  type DeploymentAdmission,
  type DeploymentFacts,
  type StoredDeployment,
  toSpec,
} from '../../../crds/deployment/index.js';
import { hashSpec } from '../../../crds/meta/index.js';
import { type Entry, findRecordFault, value } from '../../../pkg/store/index.js';
import { listConflictKeys } from '../../admission/conflict-keys.js';
import { previewDeployment } from '../../admission/dry-run.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { chooseFreshness, gatherFacts, guardNode } from '../../admission/facts.js';
import { warnOfReplicas } from '../../admission/quota.js';
import {
  judgeRestored,
  readSecretsVersion,
  type RestoredParts,
  type SubmissionOrigin,
  toBaselineDocument,
} from '../../admission/restore.js';
import { warnRepeated } from '../../admission/scaling.js';
import { warnUnresolved } from '../../admission/secrets.js';
import { readSubmitted } from '../../admission/submitted.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import type { ApiCall } from '../../http/route.js';
import { checkIfMatch } from '../../write/if-match.js';
import { putNotes } from '../../write/metadata.js';
import type { Plan, WriteInput, CachedEnv, Writing } from '../../write/write.js';
import { planRevision } from './revision.js';
import { findDeployment, renderDeployment } from './view.js';

/** What a configuration is judged by. */
interface SubmissionFacts {
  readonly document: unknown;
  readonly known: DeploymentFacts;
  /** Of a configuration that is brought back: what ran beside its canary is judged by these. */
  readonly baselineFacts: DeploymentFacts | undefined;
  /** The highest that the name is known to have had. */
  readonly secretsVersion: number | undefined;
  /** The deployment that has the name of a new one; undefined while only the store knows. */
  readonly taken: Entry | undefined;
}

interface JudgedSubmission {
  readonly admission: Extract<DeploymentAdmission, { ok: true }>;
  readonly restored: RestoredParts | undefined;
}

type SubmissionInput = WriteInput<SubmissionFacts>;
type DeploymentWriting = Writing<AdmissionEnv, SubmissionFacts, JudgedSubmission>;

/** What differs between the ways in which a configuration is submitted. */
interface Submission {
  /** Finds the deployment that it replaces. Left out for one that is only created. */
  readonly find?: NonNullable<DeploymentWriting['find']>;
  /** The document, over what is stored. Left out: what was sent. */
  readonly toDocument?: (stored: StoredDeployment | undefined) => unknown;
  /** Where it comes from, when that is not the request itself. */
  readonly origin?: SubmissionOrigin;
}

/** How a configuration is judged and stored: one transaction, and for most new deployments no read before it. */
export function defineSubmission({ find, toDocument, origin }: Submission): DeploymentWriting {
  const read = (call: ApiCall, entry: Entry | undefined) => {
    const stored = entry && value<StoredDeployment>(entry);
    const document = toDocument ? toDocument(stored) : call.document;
    return { document, submitted: readSubmitted(document, stored) };
  };
  return {
    name: 'deployment',
    points: ['deployment.storing', 'deployment.stored'],
    isAnsweredAtOnce: true,
    ...(find
      ? { find }
      : { freshness: ({ cache }, call) => chooseFreshness(cache, call.tenant, read(call, undefined).submitted) }),
    conflictKeys: (_env, call, entry) => listConflictKeys(call.tenant, read(call, entry).submitted),
    facts: async (env, call, seen) => {
      const { tenant } = call;
      const { document, submitted } = read(call, seen.stored);
      const known = await gatherFacts(env, tenant, submitted, seen);
      const taken = seen.isFresh && !seen.stored ? findTaken(env.cache, tenant, submitted.fields['name']) : undefined;
      if (!origin) return { document, known, baselineFacts: undefined, secretsVersion: undefined, taken };
      const baseline = toBaselineDocument(document, origin);
      return {
        document,
        known,
        baselineFacts: baseline && (await gatherFacts(env, tenant, readSubmitted(baseline), seen)),
        secretsVersion: seen.stored ? undefined : await readSecretsVersion(env, tenant, origin),
        taken,
      };
    },
    judge: (given, env) => judge(given, env, origin),
    plan: (given, ruling, env) => plan(given, ruling, env, origin),
    show: ({ cache }, written, { stored }) => renderDeployment(cache, written, written === stored),
    preview: (env, { call, stored: entry, facts }, { admission }) =>
      previewDeployment(env, call.tenant, admission, facts.known, entry && value<StoredDeployment>(entry)),
  };
}

/** Stores a new deployment. */
export const creation = defineSubmission({});

/** Changes a stored deployment. The same content again changes nothing and gets the same answer. */
export const replacement = defineSubmission({
  find: ({ cache }, { tenant, params }) => findDeployment(cache, tenant, params['name']!),
});

function findTaken(cache: AdmissionEnv['cache'], tenant: string, name: unknown): Entry | undefined {
  const found = typeof name === 'string' ? findDeployment(cache, tenant, name) : undefined;
  return found instanceof RequestRejection ? undefined : found;
}

function judge(
  given: SubmissionInput,
  env: CachedEnv<AdmissionEnv>,
  origin: SubmissionOrigin | undefined,
): JudgedSubmission | RequestRejection {
  const { stored: entry, facts } = given;
  const { document, known, baselineFacts, taken } = facts;
  const limits = env.deploymentLimits;
  const stored = entry && value<StoredDeployment>(entry);
  const admission = stored
    ? admitUpdate(stored, document, known, limits)
    : admitCreate(document, known, limits, facts.secretsVersion);
  if (!admission.ok) return new RequestRejection(admission.rejections);
  const { spec } = admission;
  if (stored) {
    const mismatch = checkIfMatch(undefined, admission.ifMatch, entry);
    if (mismatch) return mismatch;
    if (stored.metadata.deletedAt !== undefined) return rejectRequest('deployment_being_deleted', 'name', stored.name);
  } else if (taken) {
    const isDeleting = value<StoredDeployment>(taken).metadata.deletedAt !== undefined;
    const received = isDeleting ? `${spec.name}, which is being deleted` : spec.name;
    return rejectRequest('deployment_already_exists', 'name', received);
  }
  const about = { spec, ...(stored && { before: stored }), baselineFacts, limits };
  const restored = origin && judgeRestored(given, env.cache, about, origin);
  return restored instanceof RequestRejection ? restored : { admission, restored };
}

function plan(
  given: SubmissionInput,
  { admission, restored }: JudgedSubmission,
  env: CachedEnv<AdmissionEnv>,
  origin: SubmissionOrigin | undefined,
): Plan {
  const { call, stored: entry, facts } = given;
  const { document, known } = facts;
  const { spec, alterations, material } = admission;
  const stored = entry && value<StoredDeployment>(entry);
  const { cache } = env;
  const tried = {
    before: stored && { ...toSpec(stored), ...restored?.before },
    after: restored ? { ...spec, ...restored.after } : spec,
    alterations,
    warnings: [
      ...(restored?.warnings ?? warnRepeated(cache, spec, document, stored)),
      ...admission.warnings,
      ...warnOfReplicas(env, call.tenant, spec, stored),
      ...warnUnresolved(spec, material, known.secretKeys),
    ],
  };
  const isSame = isUnchanged(entry, spec, restored);
  const noted = isSame && call.toNotes ? putNotes(entry, call.toNotes(spec)) : undefined;
  const submitted = { subject: spec.name, writes: material, seen: known.secretKeys, isAlone: isSame && !noted };
  const secrets = material.length > 0 ? submitted : undefined;
  if (isSame) return { material: secrets, ...tried, ...(noted && { record: noted }) };

  const change = origin?.change ?? (stored ? 'update' : 'create');
  const { uid, ...revision } = planRevision(given, cache, { change, spec, alterations, origin });
  const more = restored?.toChange(uid);
  // Each field by its name: a literal of spreads costs every request more than the rest of the plan (ADR 7).
  return {
    record: revision.record,
    puts: more ? [...revision.puts, ...more.puts] : revision.puts,
    guards: [...revision.guards, ...guardNode(cache, call.tenant, spec.nodeId), ...(more?.guards ?? [])],
    deletes: more?.deletes ?? [],
    events: revision.events,
    proof: revision.proof,
    material: secrets,
    before: tried.before,
    after: tried.after,
    alterations,
    warnings: tried.warnings,
    location: stored ? undefined : `/api/v1/deployments/${spec.name}`,
  };
}

/** Whether a configuration, with what comes with it, is what is stored. */
function isUnchanged(
  entry: Entry | undefined,
  spec: Deployment,
  restored: Pick<RestoredParts, 'isSame'> | undefined,
): entry is Entry {
  if (!entry || restored?.isSame === false || findRecordFault(entry) !== undefined) return false;
  return hashSpec(spec) === value<StoredDeployment>(entry).metadata.specHash;
}

/** Requests the deletion of a deployment. The record stays, marked, until its containers are gone; a repeat changes nothing. */
export const removal: Writing<AdmissionEnv, undefined, StoredDeployment> = {
  name: 'deployment',
  isAnsweredAtOnce: true,
  find: ({ cache }, { tenant, params }) => findDeployment(cache, tenant, params['name']!),
  judge: ({ stored }) => value<StoredDeployment>(stored!),
  plan: (given, stored, { cache }) => {
    const before = toSpec(stored);
    if (stored.metadata.deletedAt !== undefined) return { before, after: before };
    const { uid: _, ...revision } = planRevision(given, cache, { change: 'delete', spec: before, alterations: [] });
    return { ...revision, before };
  },
  show: ({ cache }, written, { stored }) => renderDeployment(cache, written, written === stored),
};
