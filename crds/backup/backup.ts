import { hash } from 'node:crypto';

import type { ArchivedRevision } from '../archive/index.js';
import type { Deployment } from '../deployment/index.js';
import { type Metadata, toCanonicalText } from '../meta/index.js';

/** A copy of the configuration of a deployment at one moment, in the form in which it also leaves the installation. */
export interface Backup {
  readonly id: string;
  readonly deploymentName: string;
  readonly createdAt: string;
  /** Public id of the token that created it. */
  readonly createdBy: string;
  readonly specHash: string;
  readonly secretsVersion: number;
  /** References to secrets and volumes, and nothing of what is in them. */
  readonly spec: Deployment;
  /** Null: the deployment has none. */
  readonly scalingPolicy: Readonly<Record<string, unknown>> | null;
  readonly canaryState: Readonly<Record<string, unknown>> | null;
  /** The newest revisions of its history, the oldest first. */
  readonly revisions: readonly ArchivedRevision[];
  /** Kept revisions that had no room in the backup. */
  readonly revisionsOmitted: number;
  /** SHA-256 over everything above. */
  readonly checksum: string;
}

/** `backups/<tenant>/<id>`: what lists show of a backup. */
export interface StoredBackup extends Omit<Backup, keyof BackupContent> {
  readonly metadata: Metadata;
  readonly revisionCount: number;
  readonly bytes: number;
}

/** `backup-contents/<tenant>/<id>`: the rest of it, which is not cached. */
export type BackupContent = Pick<Backup, 'spec' | 'scalingPolicy' | 'canaryState' | 'revisions' | 'revisionsOmitted'>;

/** The checksum that belongs to a backup, whatever it says of itself. */
export function computeBackupChecksum(backup: Omit<Backup, 'checksum'>): string {
  const { id, deploymentName, createdAt, createdBy, specHash, secretsVersion } = backup;
  const { spec, scalingPolicy, canaryState, revisions, revisionsOmitted } = backup;
  const about = { id, deploymentName, createdAt, createdBy, specHash, secretsVersion };
  const content = { spec, scalingPolicy, canaryState, revisions, revisionsOmitted };
  return hash('sha256', toCanonicalText({ ...about, ...content }), 'hex');
}

/** A backup with its spec must fit into one request to import it, and its revisions into one write to the database. */
const REVISIONS_BYTES_MAX = 512 * 1024;
const REVISIONS_VALUES_MAX = 12_000;

/** The newest revisions that a backup has room for, the oldest first. */
export function chooseBackupRevisions(revisions: readonly ArchivedRevision[]): readonly ArchivedRevision[] {
  let [bytes, values] = [0, 0];
  const isOver = (revision: ArchivedRevision) => {
    bytes += Buffer.byteLength(JSON.stringify(revision));
    values += countValues(revision);
    return bytes > REVISIONS_BYTES_MAX || values > REVISIONS_VALUES_MAX;
  };
  return revisions.slice(revisions.findLastIndex(isOver) + 1);
}

/** What the revisions of a backup may be, in words. */
export const backupRevisionsBound = `revisions of at most ${REVISIONS_BYTES_MAX} bytes and ${REVISIONS_VALUES_MAX} keys and values together: leave out the oldest`;

/** Keys and values of a document, as the reader of requests counts them. */
function countValues(document: unknown): number {
  if (typeof document !== 'object' || document === null) return 1;
  const parts: readonly unknown[] = Object.values(document);
  const keys = Array.isArray(document) ? 0 : parts.length;
  return parts.reduce<number>((sum, part) => sum + countValues(part), 1 + keys);
}
