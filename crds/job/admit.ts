import { Type } from 'typebox';

import { isDnsLabel } from '../grammar/index.js';
import {
  type Admission,
  annotate,
  createCompletion,
  createValidator,
  type Field,
  isBroken,
  listFieldRules,
  nodeReferenceSchema,
  recordAlterations,
  type Relation,
  rule,
  toFieldSchema,
  toCheckFailure,
} from '../rule/index.js';
import type { SecretWrite } from '../secret/index.js';
import {
  rejectOversized,
  warnImage,
  warnResidency,
  type WorkloadContext,
  type WorkloadFacts,
  workloadFields,
  type WorkloadLimits,
} from '../workload/index.js';
import type { Job } from './job.js';
import { type JobCompletion, scheduledNameRules, scheduleFields, scheduleRelations } from './schedule.js';

const RESTART_POLICY = 'OnFailure';

/** How often a job is tried again, when the document does not say. */
const BACKOFF_LIMIT = 3;
const RETRIES_MAX = 100;
const SECONDS_MAX = 31_536_000;
const LISTED = 20;
const seconds = (minimum: number) => Type.Integer({ minimum, maximum: SECONDS_MAX });

const kindIsJob = rule('manifest_wrong_kind', (kind: unknown, at, refuse) =>
  kind === 'Job' ? undefined : refuse(at, kind, { kind: 'Job' }),
);

const nodesAreKnown = rule(
  'job_node_candidates_unresolvable',
  (nodeId: string, at, refuse, { facts }: WorkloadContext) => {
    if (facts.nodes === 'unreadable') return refuse(at, nodeId, { nodes: 'unreadable' });
    return facts.nodes.some(node => node.reachable) ? undefined : refuse(at, nodeId, { nodes: 'none' });
  },
);

const nodeExists = rule('job_node_not_found', (nodeId: string, at, refuse, { facts }: WorkloadContext) => {
  if (facts.nodes === 'unreadable' || facts.nodes.some(({ id, name }) => id === nodeId || name === nodeId))
    return undefined;
  return refuse(at, nodeId, { nodes: facts.nodes.slice(0, LISTED).map(({ name }) => name) });
});

const { name, image, entrypoint, command, ...others } = workloadFields;

const NEVER_IS_ONCE: Relation = {
  field: 'backoffLimit',
  forbidden: {
    all: [
      { field: 'backoffLimit', isAbove: 0 },
      { field: 'restartPolicy', isOneOf: ['Never'] },
    ],
  },
  wanted: '0 or nothing, because restartPolicy is Never; OnFailure tries again',
};

const neverIsOnce = rule('field_invalid', (limit: number, at, refuse, { document }: WorkloadContext) =>
  isBroken(NEVER_IS_ONCE, document) ? refuse(at, limit, { wanted: NEVER_IS_ONCE.wanted }) : undefined,
);

/** Every field of a job, in the order in which rejections are listed. The compiler holds it to `Job`. */
export const jobFields = {
  kind: {
    schema: Type.Literal('Job', annotate({ 'x-rules': true })),
    required: true,
    rules: [{ field: 'kind', absent: kindIsJob, present: [kindIsJob] }],
  },
  name: { ...name, rules: [...name.rules, scheduledNameRules] },
  image,
  entrypoint,
  command,
  nodeId: {
    schema: nodeReferenceSchema,
    rules: [{ field: 'nodeId', present: [nodesAreKnown, nodeExists] }],
    complete: (sent: string, announce, { facts }: JobCompletion) => {
      const nodes = facts.nodes === 'unreadable' ? [] : facts.nodes;
      const node = nodes.find(each => each.id === sent || each.name === sent);
      if (node && node.id !== sent) announce('nodeId', sent, node.id, 'the id of the node of that name');
      return node?.id;
    },
  },
  ...others,
  restartPolicy: {
    schema: Type.Enum(['Never', 'OnFailure'], { type: 'string' }),
    rules: [],
    default: RESTART_POLICY,
  },
  backoffLimit: {
    schema: Type.Integer({ minimum: 0, maximum: RETRIES_MAX }),
    rules: [{ field: 'backoffLimit', with: ['restartPolicy'], present: [neverIsOnce] }],
    isComputed: true,
    complete: (sent: number | undefined, announce, { restartPolicy }: JobCompletion) => {
      if (sent !== undefined) return sent;
      const limit = restartPolicy === 'Never' ? 0 : BACKOFF_LIMIT;
      announce('backoffLimit', null, limit, restartPolicy === 'Never' ? 'restartPolicy is Never' : 'default');
      return limit;
    },
  },
  timeoutSeconds: { schema: seconds(1), rules: [] },
  ttlSecondsAfterFinished: { schema: seconds(0), rules: [] },
  ...scheduleFields,
} as const satisfies Readonly<Record<keyof Job, Field<WorkloadContext, JobCompletion>>>;

const table: Readonly<Record<string, Field<WorkloadContext, JobCompletion>>> = jobFields;

/** A job as a client sends it. */
export const jobSchema = toFieldSchema(jobFields, annotate({ 'x-relations': [NEVER_IS_ONCE, ...scheduleRelations] }));

const validate = createValidator(jobSchema, listFieldRules(table));
const complete = createCompletion<Job, JobCompletion>(table);

/** What becomes of a job's document; `material` goes to the secrets store before the spec is stored. */
export type JobAdmission = Admission<Job, { readonly material: readonly SecretWrite[] }>;

/** Judges a document that asks for a new job. */
export function admitJob(document: unknown, facts: WorkloadFacts, limits: WorkloadLimits): JobAdmission {
  const name = nameIn(document);
  const refused = toCheckFailure(validate(document, sound => ({ ...sound, kind: 'Job', facts, limits, name })));
  if (refused) return refused;
  const { alterations, announce } = recordAlterations();
  const material: SecretWrite[] = [];
  const sent = document as Readonly<Record<string, unknown>>;
  const isScheduled = sent['schedule'] !== undefined;
  const restartPolicy = sent['restartPolicy'] as Job['restartPolicy'];
  const spec = complete(sent, { facts, limits, material, isScheduled, restartPolicy }, announce);
  const oversized = rejectOversized(spec, alterations);
  if (oversized) return { ok: false, rejections: [oversized] };
  const warnings = [...warnImage(facts.image, spec.image), ...warnResidency(spec.placement?.residency, facts)];
  return { ok: true, spec, alterations, warnings, material };
}

/** The name for use in wording, where a hostile one has no place. */
function nameIn(document: unknown): string {
  const name = (document as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && isDnsLabel(name) ? name : '<name>';
}
