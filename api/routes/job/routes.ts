import type { DeploymentFacts } from '../../../crds/deployment/index.js';
import { createTypedId } from '../../../crds/grammar/index.js';
import { admitJob, type Job, jobKind, markDeleted, type StoredJob, toJobSpec } from '../../../crds/job/index.js';
import { keys } from '../../../crds/keys/index.js';
import { toJobWorkload } from '../../../crds/replica/index.js';
import { explainDeployment } from '../../../pkg/fleet/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { listConflictKeys } from '../../admission/conflict-keys.js';
import { previewWorkload, toExplanationView } from '../../admission/dry-run.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { chooseFreshness, gatherFacts, guardNode } from '../../admission/facts.js';
import { warnAboveQuota } from '../../admission/quota.js';
import { dryRunSecrets, warnUnresolved } from '../../admission/secrets.js';
import { readSubmitted } from '../../admission/submitted.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, describeCaller, type Route, type RouteResult } from '../../http/route.js';
import { newMetadata, toTraceMetadata } from '../../write/metadata.js';
import { write, type Writing } from '../../write/write.js';
import { makeRoom } from './room.js';
import { findJob, loadJob, readJobStatus, renderJob } from './view.js';

const COLLECTION = jobKind.path;
const ONE = `${COLLECTION}/${jobKind.item}`;

/** Jobs: work that runs to its end. A job is not changed: it is deleted, which stops it, and created again. */
export function createJobRoutes(env: AdmissionEnv): readonly Route[] {
  return [
    defineRoute('deployer', 'POST', COLLECTION, call => write(env, call, creation)),
    defineRoute('deployer', 'DELETE', ONE, call => write(env, call, removal)),
    defineRoute('viewer', 'GET', `${ONE}/explain`, call => explainJob(env, call)),
  ];
}

type AdmittedJob = Extract<ReturnType<typeof admitJob>, { ok: true }>;

interface JobFacts {
  readonly known: DeploymentFacts;
  readonly isFresh: boolean;
}

const creation: Writing<AdmissionEnv, JobFacts, AdmittedJob> = {
  name: 'job',
  isAnsweredAtOnce: true,
  freshness: ({ cache }, { tenant, document }) => chooseFreshness(cache, tenant, readSubmitted(document)),
  conflictKeys: (_env, { tenant, document }) => listConflictKeys(tenant, readSubmitted(document)),
  facts: async (env, { tenant, document }, seen) => ({
    known: await gatherFacts(env, tenant, readSubmitted(document), seen),
    isFresh: seen.isFresh,
  }),
  judge: ({ call: { tenant, document }, facts }, env) => {
    const admission = admitJob(document, facts.known, env.deploymentLimits);
    if (!admission.ok) return new RequestRejection(admission.rejections);
    const { name } = admission.spec;
    const taken = facts.isFresh ? env.cache.get(keys.job(tenant, name)) : undefined;
    if (!taken) return admission;
    const isDeleting = value<StoredJob>(taken).metadata.deletedAt !== undefined;
    return rejectRequest('resource_already_exists', 'name', isDeleting ? `${name}, which is being deleted` : name);
  },
  plan: (given, { spec, alterations, warnings, material }, env) => {
    const { call, now, facts } = given;
    const { tenant, caller } = call;
    const { secretKeys } = facts.known;
    const uid = createTypedId('job', count => given.random.bytes(count));
    const job: StoredJob = { metadata: newMetadata(given, uid, spec), ...spec };
    const room = makeRoom(env, tenant, spec, now);
    return {
      record: { key: keys.job(tenant, spec.name), bytes: encode(job) },
      puts: room.puts,
      guards: [...guardNode(env.cache, tenant, spec.nodeId), ...room.guards],
      events: [
        {
          type: 'job.created',
          tenant,
          subject: { kind: 'Job', name: spec.name, id: uid },
          reason: 'job_created',
          message: `job ${spec.name} was created by ${describeCaller(caller)}`,
          data: { by: caller.id },
        },
      ],
      ...(material.length > 0 && { material: { subject: spec.name, writes: material, seen: secretKeys } }),
      after: spec,
      alterations,
      warnings: [
        ...warnings,
        ...room.warnings,
        ...warnAboveQuota(env, tenant, toJobWorkload(spec), countContainers(spec)),
        ...warnUnresolved(spec, material, secretKeys),
      ],
      location: `${COLLECTION}/${spec.name}`,
    };
  },
  show: ({ cache }, job) => renderJob(cache, job, false),
  preview: (env, { call: { tenant }, facts }, { spec, material }) => {
    const workload = toJobWorkload(spec);
    return {
      recreated: [],
      secrets: dryRunSecrets(spec, material, facts.known.secretKeys),
      placement: previewWorkload(env, tenant, workload, workload.replicas),
    };
  },
};

/** One with a schedule has no container itself: its runs wait for the quota, each when it is due. */
function countContainers({ schedule }: Job): number {
  return schedule === undefined ? 1 : 0;
}

/** Requests the deletion of a job. Its record stays, marked, until its container is gone; a repeat changes nothing. */
const removal: Writing<AdmissionEnv, undefined, StoredJob> = {
  name: 'job',
  isAnsweredAtOnce: true,
  find: ({ cache }, { tenant, params }) => findJob(cache, tenant, params['name']!),
  judge: ({ stored }) => value<StoredJob>(stored!),
  plan: ({ call, stored, now }, job) => {
    const before = toJobSpec(job);
    if (job.metadata.deletedAt !== undefined) return { before, after: before };
    const next = markDeleted(job, now, toTraceMetadata(call.span));
    return { record: { key: stored!.key, bytes: encode(next) }, before };
  },
  show: ({ cache }, written, { stored }) => renderJob(cache, written, written === stored),
};

/** Where the next attempt of a job may run, and why not elsewhere. */
async function explainJob({ cache, placementPolicy }: AdmissionEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  const entry = await loadJob(cache, tenant, params['name']!);
  if (entry instanceof RequestRejection) return entry;
  const job = value<StoredJob>(entry);
  const { phase, message, attempts } = readJobStatus(cache, entry);
  const policy = placementPolicy;
  // There is one attempt at a time: the next one takes the place of this one.
  const explained = explainDeployment(toJobWorkload(toJobSpec(job)), tenant, { cache, policy }, 'are replaced');
  const view = toExplanationView(explained);
  return replyJson(200, {
    job: job.name,
    uid: job.metadata.uid,
    revision: String(cache.revision),
    phase,
    message,
    attempts,
    steps: [],
    outlook: view.summary,
    ...view,
  });
}
