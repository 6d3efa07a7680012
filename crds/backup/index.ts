/**
 * Backups: copies of the configuration of a deployment with its history, which can leave the installation as a file.
 *
 *     const checked = checkBackupImport(document);
 *     computeBackupChecksum(backup) === backup.checksum
 *
 * They hold references: no value of a secret, no byte of a volume. Storing and restoring them is the API's.
 *
 * @module
 */
export type { Backup, BackupContent, StoredBackup } from './backup.js';
export { chooseBackupRevisions, computeBackupChecksum } from './backup.js';
export { backupKind } from './kind.js';
export { checkBackupImport, checkBackupRequest } from './requests.js';
