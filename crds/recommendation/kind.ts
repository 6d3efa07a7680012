import { defineKind } from '../kind/index.js';
import { recommendationApplySchema } from './apply.js';

/** Advice about volumes. */
export const recommendationKind = defineKind({
  kind: 'Recommendation',
  singular: 'recommendation',
  plural: 'recommendations',
  shortNames: [],
  description: 'Advice that would make a volume safer or cheaper, computed from its present state and never stored.',
  scope: 'tenant',
  isSupported: false,
  requests: { RecommendationApply: recommendationApplySchema },
  events: [],
  operations: [],
  nameField: 'id',
  columns: [],
});
