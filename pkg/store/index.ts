/**
 * The store.
 *
 * @module
 */
export type { Cache, CacheChange } from './cache.js';
export type * from './store.js';
