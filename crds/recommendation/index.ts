/**
 * Recommendations: what would make a volume safer or cheaper, and the rules for asking and applying.
 *
 * They are computed from the present state on every read and never stored, so applying one starts by finding it again.
 *
 *     const checked = checkRecommendationApply(id, document, { recommendations, volumes, enrolled, findRoom });
 *
 * Computing them is `pkg/recommend`; announcing what appears and vanishes is the loop `volume-recommender`.
 *
 * @module
 */
export type { ApplyFacts, VolumeChange } from './apply.js';
export { checkRecommendationApply } from './apply.js';
export { checkAutoApply } from './auto-apply.js';
export type { AdviceRecord, Recommendation, RefusedGrowth } from './recommendation.js';
export {
  checkRecommendationQuery,
  recommendationParameters,
  recommendationPriorities,
  recommendationTypes,
} from './recommendation.js';
export { recommendationKind } from './kind.js';
