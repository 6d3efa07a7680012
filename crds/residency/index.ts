/**
 * Residency: in which countries data may be.
 *
 * A tenant writes a typed block; it is stored beside the labels it stands for. A node says in labels where it is. The
 * control plane declares which countries a region covers.
 *
 *     checkResidency({ region: 'eu' }, node.labels, regions)   // [] when the node will do
 *     renderResidencyLabels({ country: 'DE' })   // { 'mooring.io/data-residency-country': 'DE' }
 *
 * Placing by it is the scheduler's; it says nothing about nodes that are not ready.
 *
 * @module
 */
export type { Regions, Residency, ResidencyInput } from './residency.js';
export { completeResidency, defaultRegions, isCountry, residencyRules, residencySchema } from './residency.js';
export {
  checkResidency,
  isResidencyLabel,
  isTypedInFull,
  nodeCountryLabel,
  nodeRegionLabel,
  parseResidencyLabels,
  renderResidencyLabels,
} from './labels.js';
