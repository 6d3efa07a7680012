import type { Static } from 'typebox';

import { isDnsLabel } from '../grammar/index.js';
import type { Metadata } from '../meta/index.js';
import type { Rejections } from '../rejections/index.js';
import { type Alteration, recordAlterations, toRefusal, type Warning } from '../rule/index.js';
import type { SecretWrite } from '../secret/index.js';
import {
  completeMounts,
  completePlacement,
  completeSecrets,
  type PlacementSpec,
  type ResourceRequests,
  type SecretReference,
  type VolumeMount,
  warnImage,
  warnResidency,
  type WorkloadFacts,
  type WorkloadLimits,
} from '../workload/index.js';
import { type jobSchema, validateJob } from './rules.js';

/** What becomes of a job's document. */
export type JobAdmission =
  | {
      readonly ok: true;
      readonly spec: Job;
      readonly alterations: readonly Alteration[];
      readonly warnings: readonly Warning[];
      /** Secret material that came with the document: for the secrets store, before the spec is stored. */
      readonly material: readonly SecretWrite[];
    }
  | { readonly ok: false; readonly rejections: Rejections };

/** How often a job is tried again, when nobody says. */
const BACKOFF_LIMIT = 3;

/** Judges a document that asks for a new job. */
export function admitJob(document: unknown, facts: WorkloadFacts, limits: WorkloadLimits): JobAdmission {
  const name = nameIn(document);
  const refused = toRefusal(validateJob(document, sound => ({ ...sound, kind: 'Job', facts, limits, name })));
  return refused ?? accepted(document as Static<typeof jobSchema>, facts, limits);
}

function accepted(sent: Static<typeof jobSchema>, facts: WorkloadFacts, limits: WorkloadLimits): JobAdmission {
  const { alterations, announce } = recordAlterations();
  const { nodeId, secrets: entries, volumes, placement, backoffLimit, ...rest } = sent;
  const nodes = facts.nodes === 'unreadable' ? [] : facts.nodes;
  const node = nodes.find(each => each.id === nodeId || each.name === nodeId);
  if (node && node.id !== nodeId) announce('nodeId', nodeId, node.id, 'the id of the node of that name');
  const secrets = entries && completeSecrets(entries, facts, limits.secrets, announce);
  if (backoffLimit === undefined) announce('backoffLimit', null, BACKOFF_LIMIT, 'default');

  const spec: Job = {
    ...(rest as Omit<Job, 'backoffLimit'>),
    ...(node && { nodeId: node.id }),
    ...(secrets && { secrets: secrets.secrets }),
    ...(volumes && { volumes: completeMounts(volumes, facts, announce) }),
    ...(placement && { placement: completePlacement(placement, announce) }),
    backoffLimit: backoffLimit ?? BACKOFF_LIMIT,
  };
  const warnings = [...warnImage(facts.image), ...warnResidency(spec.placement?.residency, facts)];
  return { ok: true, spec, alterations, warnings, material: secrets?.material ?? [] };
}

/** The name for use in wording, where a hostile one has no place. */
function nameIn(document: unknown): string {
  const name = (document as { readonly name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && isDnsLabel(name) ? name : '<name>';
}

/** Work that ends, after admission. */
export interface Job {
  readonly kind: 'Job';
  readonly name: string;
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  /** Always the id. */
  readonly nodeId?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly SecretReference[];
  readonly composedSecrets?: Readonly<Record<string, string>>;
  readonly volumes?: readonly VolumeMount[];
  readonly resources?: ResourceRequests;
  readonly placement?: PlacementSpec;
  /** How often it is tried again after a failure. */
  readonly backoffLimit: number;
  /** How long one attempt may take; for ever when absent. */
  readonly timeoutSeconds?: number;
  /** How long a finished job is kept; for ever when absent. */
  readonly ttlSecondsAfterFinished?: number;
}

/** `jobs/<tenant>/<name>`. */
export interface StoredJob extends Job {
  readonly metadata: Metadata;
}

export type JobPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';
