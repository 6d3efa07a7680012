/**
 * Recommendations: what would make a volume safer or cheaper, and the rules for asking and applying.
 *
 * They are computed from the present state on every read and never stored, so applying one starts by finding it again.
 *
 *     const checked = checkRecommendationApply(id, document, { recommendations, volumes, enrolled });
 *
 * Only requests are checked here; computing recommendations comes with volumes.
 *
 * @module
 */
export type { ApplyFacts } from './apply.js';
export { checkRecommendationApply } from './apply.js';
export type { Recommendation } from './recommendation.js';
export { checkRecommendationQuery } from './recommendation.js';
export { recommendationKind } from './kind.js';
