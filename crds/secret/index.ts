/**
 * Secret material on its way into the secrets store.
 *
 * A value is given or generated; either way it is judged here, written to the secrets store by the API, and never
 * stored with a record: `guardPersisted` is the gate in front of the store that sees to it.
 *
 *     const checked = checkSecretWrite({ namespace, resource, document }, granted, limits);
 *     if (!checked.ok) return checked.rejections;
 *     write(checked.value.values, checked.value.generation);
 *
 * References to secrets are fields of workloads; minting and keeping values is for `pkg/secrets`.
 *
 * @module
 */
export type { Charset, Encoding, GenerateInput, Generation } from './generate.js';
export { alphabets, generateRules, generateSchema, toGeneration } from './generate.js';
export type { SecretWrite } from './write.js';
export { checkSecretWrite, guardPersisted } from './write.js';
export type { MaterialContext, SecretLimits } from './values.js';
export {
  defaultSecretLimits,
  findProvidedAndGenerated,
  hasNoValues,
  valuesRules,
  valuesSchema,
  writtenValuesSchema,
} from './values.js';
export { secretKind } from './kind.js';
