/**
 * Recommendations: what would make the volumes of a tenant safer or cheaper.
 *
 * `recommend` is pure: the state of volumes goes in, recommendations come out, the most urgent first, each with the measurement that it
 * is made from and the arithmetic in words. `readVolumeStates` and `readTenantState` read that state from the watch cache, for the API and
 * for the loop that announces what appears and vanishes, so that both see the same.
 *
 *     const items = recommend(readVolumeStates(cache, tenant), readTenantState({ cache, policy }, tenant, now));
 *
 * Nothing is stored here, and nothing applied.
 *
 * @module
 */
export { readTenantState, readVolumeState, readVolumeStates } from './read.js';
export { findLowSince, LOW_MS, recommend, type TenantState, type VolumeState } from './recommend.js';
