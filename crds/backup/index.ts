/**
 * Backups: a kind whose name and quota are settled, and which no release carries out yet.
 *
 * @module
 */
export { backupKind } from './kind.js';
