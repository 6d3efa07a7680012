import { defineKind } from '../kind/index.js';
import { recommendationApplySchema } from './apply.js';
import { autoApplySchema } from './auto-apply.js';

/** Advice about volumes. */
export const recommendationKind = defineKind({
  kind: 'Recommendation',
  singular: 'recommendation',
  plural: 'recommendations',
  shortNames: [],
  description: 'Advice that would make a volume safer or cheaper, computed from its present state and never stored.',
  scope: 'tenant',
  requests: { RecommendationApply: recommendationApplySchema, AutoApplyRequest: autoApplySchema },
  events: [
    'recommendation.appeared',
    'recommendation.vanished',
    'recommendation.applied',
    'recommendation.auto_apply_changed',
  ],
  operations: [],
  nameField: 'id',
  columns: [],
});
