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
  readonly parameters: RecommendationParameters;
  readonly measurement: { readonly at: string; readonly usedBytes?: number; readonly syncedReplicas?: number };
}
