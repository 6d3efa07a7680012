/**
 * Archives: earlier generations of deployments, a kind whose name and keys are settled, and which no release answers yet.
 *
 * @module
 */
export { archiveKind } from './kind.js';
