import { Type } from 'typebox';

import { annotate, createValidator, type FieldRules, rule } from '../rule/index.js';
import {
  anchorRules,
  composedReferenceRules,
  composedSecretsRules,
  composedSecretsSchema,
  environmentRules,
  environmentSchema,
  imageRules,
  imageSchema,
  nameRules,
  nameSchema,
  placementRules,
  placementSchema,
  resourcesRules,
  resourcesSchema,
  rotatingRules,
  secretsRules,
  secretsSchema,
  variablesRules,
  volumesRules,
  volumesSchema,
  type WorkloadContext as Context,
  wordsSchema,
  writerRules,
} from '../workload/index.js';

const RETRIES_MAX = 100;
const SECONDS_MAX = 31_536_000;
const LISTED = 20;
const seconds = (minimum: number) => Type.Integer({ minimum, maximum: SECONDS_MAX });

/** A job as a client sends it. */
export const jobSchema = Type.Object(
  {
    kind: Type.Literal('Job', annotate({ 'x-rules': true })),
    name: nameSchema,
    image: imageSchema,
    entrypoint: Type.Optional(wordsSchema),
    command: Type.Optional(wordsSchema),
    nodeId: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, ...annotate({ 'x-expected': 'the id or the name of a node' }) }),
    ),
    environment: Type.Optional(environmentSchema),
    secrets: Type.Optional(secretsSchema),
    composedSecrets: Type.Optional(composedSecretsSchema),
    volumes: Type.Optional(volumesSchema),
    resources: Type.Optional(resourcesSchema),
    placement: Type.Optional(placementSchema),
    backoffLimit: Type.Optional(Type.Integer({ minimum: 0, maximum: RETRIES_MAX })),
    timeoutSeconds: Type.Optional(seconds(1)),
    ttlSecondsAfterFinished: Type.Optional(seconds(0)),
  },
  { additionalProperties: false },
);

const kindIsJob = rule('manifest_wrong_kind', (kind: unknown, at, _context: Context, refuse) =>
  kind === 'Job' ? undefined : refuse(at, kind, { kind: 'Job' }),
);

const nodesAreKnown = rule('job_node_candidates_unresolvable', (nodeId: string, at, { facts }: Context, refuse) => {
  if (facts.nodes === 'unreadable') return refuse(at, nodeId, { nodes: 'unreadable' });
  return facts.nodes.some(node => node.reachable) ? undefined : refuse(at, nodeId, { nodes: 'none' });
});

const nodeExists = rule('job_node_not_found', (nodeId: string, at, { facts }: Context, refuse) => {
  if (facts.nodes === 'unreadable' || facts.nodes.some(({ id, name }) => id === nodeId || name === nodeId))
    return undefined;
  return refuse(at, nodeId, { nodes: facts.nodes.slice(0, LISTED).map(({ name }) => name) });
});

/** The order in which a client hears of faults. */
const fields: readonly FieldRules<Context>[] = [
  { field: 'kind', absent: kindIsJob, present: [kindIsJob] },
  nameRules,
  imageRules,
  { field: 'entrypoint', present: [] },
  { field: 'command', present: [] },
  { field: 'nodeId', present: [nodesAreKnown, nodeExists] },
  environmentRules,
  variablesRules,
  secretsRules,
  rotatingRules,
  anchorRules,
  composedSecretsRules,
  composedReferenceRules,
  volumesRules,
  writerRules,
  resourcesRules,
  placementRules,
];

export const validateJob = createValidator(jobSchema, fields);
