/**
 * Secret material that comes with a record: it is written to the secrets store together with an etcd transaction.
 *
 * The two stores share no transaction, so an intent, a record without values, says what is in progress:
 *
 * 1. `stageMaterial` stores the intent, then writes the new versions as pending.
 * 2. The caller commits its record through `advanceIntent`: record and intent change in one transaction.
 * 3. `settleIntent` makes the new versions current and deletes the intent; `undoIntent` destroys those versions instead.
 *
 * After a crash the janitor calls `completeIntent`, which continues from the state of the intent.
 *
 * It leaves to others what may be written (`crds/secret`) and where it is stored (`pkg/secrets`).
 *
 * @module
 */
export type { IntentWrite, MaterialEnv, SecretIntent, StagedMaterial } from './intent.js';
export { completeIntent, settleIntent, undoIntent } from './intent.js';
export type { StageOutcome, StageRequest } from './stage.js';
export { advanceIntent, mergeDocument, stageMaterial } from './stage.js';
