/**
 * The catalogue of everything that can be refused, and the one function that refuses.
 *
 * The key of a row is the code, so it is spelt once. A row says what is accepted, why, what to do, and shows a request
 * that earns the code and the same request fixed; pages, tables and answers are all made from it.
 *
 *     reject('replicas_negative', FieldPath.root.child('replicas'), -1, { max: 100 })
 *     rejectionAnswer([rejection], 'https://moor.example.com')   // { status: 422, body: { code, …, rejections } }
 *
 * Which request earns which code is for the rules beside each field, and for the API's own pipeline.
 *
 * @module
 */
export type { AnyCatalogueEntry, ParamsOf, PlainCode, RejectionCode } from './catalogue.js';
export { catalogue, catalogueGroups, getEntry, isRejectionCode } from './catalogue.js';
export type { CatalogueEntry, ExampleRequest, RejectionStatus, SpecSection } from './entry.js';
export { exampleVolumes } from './entry.js';
export type { PatchStep, Rejection, RejectionBody, RejectionRecord, Rejections } from './rejection.js';
export { describeValue, redactReceived, reject, toRejectionAnswer, withFix } from './rejection.js';
