/**
 * Archives: every accepted configuration of a deployment, also after its deletion.
 *
 * Writing and reading them is `pkg/history`; which of them are kept is the janitor's.
 *
 * @module
 */
export type { ArchivedRevision, FormerDeployment, FormerDeployments } from './archive.js';
export { archiveChanges } from './archive.js';
export { archiveKind, checkRollbackRequest } from './kind.js';
