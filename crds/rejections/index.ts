/**
 * The catalogue of everything that can be refused, and the one function that refuses.
 *
 * The key of a row is the code, so it is spelt once. A row says what is accepted, why, what to do, and shows a request
 * that earns the code and the same request mended; pages, tables and answers are all made from it.
 *
 *     reject('replicas_negative', FieldPath.root.child('replicas'), -1, { max: 100 })
 *     rejectionAnswer([rejection], 'https://moor.example.com')   // { status: 422, body: { code, …, rejections } }
 *
 * Which request earns which code is for the rules beside each field, and for the API's own pipeline.
 *
 * @module
 */
export type { AnyEntry, ParamsOf, PlainCode, RejectionCode } from './catalogue.js';
export { catalogue, entryOf, groups, isRejectionCode } from './catalogue.js';
export type { Entry, Example, Section, Status } from './entry.js';
export { exampleVolumes } from './entry.js';
export { describe } from './received.js';
export { reject, unquoted, withFix } from './reject.js';
export type { PatchStep, Rejection, RejectionBody, RejectionRecord, Rejections } from './rejection.js';
export { rejectionAnswer } from './rejection.js';
