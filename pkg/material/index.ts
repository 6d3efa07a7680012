/**
 * Secret material that comes with a record: written to the secrets store in step with a transaction of the platform's own.
 *
 * The two stores share no transaction, so there is an intent, a record without values that says what is under way:
 *
 * 1. `stage` stores the intent, then writes the new versions, which nobody gets to see yet.
 * 2. Whoever asked commits its record with `advance(staged)` among the changes: record and intent move together.
 * 3. `settle` makes the new versions current and forgets the intent; `undo` destroys exactly those versions instead.
 *
 * After a crash the intent says how far it came, and `finish` does what is left: that is the janitor's.
 *
 * It leaves to others what may be written (`crds/secret`) and where it is kept (`pkg/secrets`).
 *
 * @module
 */
export type { IntentWrite, MaterialEnv, SecretIntent, StagedMaterial } from './intent.js';
export { completeIntent, settleIntent, undoIntent } from './intent.js';
export type { StageOutcome, StageRequest } from './stage.js';
export { advanceIntent, mergeDocument, stageMaterial } from './stage.js';
