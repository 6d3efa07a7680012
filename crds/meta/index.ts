/**
 * What every stored object carries, whatever its kind.
 *
 * @module
 */
export type { Condition } from './condition.js';
export type { Metadata } from './metadata.js';
export { toCanonicalText, hashSpec, hashText } from './spec-hash.js';
