import { reject, type Rejection } from '../rejections/index.js';
import { type CheckResult, toCheckFailure } from '../rule/index.js';

/** What a recommendation is about. */
export const recommendationTypes = ['replication', 'capacity', 'placement'] as const;
export const recommendationPriorities = ['critical', 'high', 'medium', 'low'] as const;
export const recommendationActions = ['set_replicas', 'resize'] as const;

export type RecommendationType = (typeof recommendationTypes)[number];
export type RecommendationPriority = (typeof recommendationPriorities)[number];
export type RecommendationAction = (typeof recommendationActions)[number];

/** What would be done, and with what numbers. */
export interface RecommendationParameters {
  readonly action?: RecommendationAction;
  readonly target_replicas?: number;
  readonly target_size_bytes?: number;
}

/** Something that would make a volume safer or cheaper, computed from its present state. */
export interface Recommendation {
  readonly id: string;
  readonly applicable: boolean;
  /** Why it cannot be applied, when it cannot. */
  readonly reason?: string;
  readonly type: RecommendationType;
  readonly priority: RecommendationPriority;
  readonly volume_id: string;
  readonly volume_name: string;
  readonly parameters: RecommendationParameters;
  readonly measurement: Measurement;
  /** Of the measurement: who applies it with `If-Match` applies it to what was measured then. */
  readonly revision: string;
  /** The condition and the arithmetic, in words. */
  readonly message: string;
}

/** What a recommendation is made from. */
export interface Measurement {
  readonly at: string;
  readonly usedBytes?: number;
  /** The size that the volume has on its node. */
  readonly sizeBytes?: number;
  readonly syncedReplicas?: number;
  readonly wantedReplicas?: number;
  /** Of a copy on a node that is impaired. */
  readonly nodeId?: string;
}

/** A size that the node of a volume could not give it: nothing asks for more by itself for a while. */
export interface RefusedGrowth {
  readonly bytes: number;
  /** What its nodes had room for then, as far as was known. */
  readonly roomBytes?: number;
  /** When it was not asked for any more; left out while it is. */
  readonly at?: string;
}

/** `advice/<tenant>/<volume>`: what was announced of a volume, since when it is nearly empty, and which growth its node refused. */
export interface AdviceRecord {
  readonly volume: { readonly id: string; readonly name: string };
  readonly lowSince?: string;
  readonly refused?: RefusedGrowth;
  readonly told: readonly Pick<Recommendation, 'id' | 'type' | 'priority'>[];
}

/** Which recommendations are asked for. */
export interface RecommendationQuery {
  readonly priority?: RecommendationPriority;
  readonly type?: RecommendationType;
}

/** The parameters that the list of recommendations knows. */
export const recommendationParameters = ['priority', 'type'] as const;

/** Judges the query of a list; the tenant's header is required even from a tenant's own token. */
export function checkRecommendationQuery(
  query: Readonly<Record<string, string | undefined>>,
  tenantHeader: string | undefined,
): CheckResult<RecommendationQuery> {
  const { priority, type } = query as { priority?: string; type?: string };
  const unknown = Object.keys(query).filter(name => !recommendationParameters.some(known => known === name));
  const isPriority = priority === undefined || recommendationPriorities.some(known => known === priority);
  const isType = type === undefined || recommendationTypes.some(known => known === type);
  const found: readonly Rejection[] = [
    ...checkTenantHeader(tenantHeader),
    ...unknown.map(name =>
      reject('query_parameter_unknown', name, query[name], { known: [...recommendationParameters] }),
    ),
    ...(isPriority
      ? []
      : [reject('dvm_recommendation_unknown_priority', 'priority', priority, { known: recommendationPriorities })]),
    ...(isType ? [] : [reject('dvm_recommendation_unknown_type', 'type', type, { known: recommendationTypes })]),
  ];
  return toCheckFailure(found) ?? { ok: true, value: query as RecommendationQuery };
}

/** Recommendations are computed for one tenant, which the request must name. */
export function checkTenantHeader(header: string | undefined): readonly Rejection[] {
  return header === undefined || header === ''
    ? [reject('dvm_recommendation_tenant_required', 'X-Tenant-ID', header)]
    : [];
}
