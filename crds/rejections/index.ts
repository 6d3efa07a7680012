/**
 * The catalogue of rejection codes, and the one function that makes a rejection.
 *
 * The key of a row is the code, so it is spelt once. A row has the accepted form, the reason, the remedy, and a request
 * that earns the code beside the same request fixed; answers, reference pages and tables are all made from it.
 *
 *     reject('replicas_negative', FieldPath.root.child('replicas'), -1, { max: 100 })
 *     toRejectionAnswer([rejection], 'https://moor.example.com')   // { status: 422, body: { code, …, rejections } }
 *
 * Which request earns which code is decided by the rules beside each field and by the API's own pipeline.
 *
 * @module
 */
export type { ParamsOf, PlainCode, RejectionCode } from './catalogue.js';
export { catalogue, catalogueGroups, getEntry, isRejectionCode } from './catalogue.js';
export { documentCodes } from './document-codes.js';
export type { ExampleRequest, SpecSection } from './entry.js';
export { exampleVolumes } from './entry.js';
export type { PatchStep, Rejection, RejectionRecord, Rejections } from './rejection.js';
export { describeValue, redactReceived, reject, toRejectionAnswer, withFix } from './rejection.js';
