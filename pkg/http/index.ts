/**
 * Reading JSON from strangers.
 *
 * `parseJson` accepts what `JSON.parse` accepts, except what would be dangerous or silently altered: too deep, too many
 * values, a key twice, keys that reach into prototypes, broken Unicode, control characters, numbers that a double does
 * not hold. It looks at every byte once before the built-in parser is let loose on them.
 *
 * It leaves to others what a document means.
 *
 * @module
 */
export type { JsonLimits, JsonProblem, ParsedJson } from './json.js';
export { parseJson } from './json.js';
