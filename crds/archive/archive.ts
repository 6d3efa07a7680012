import type { Deployment } from '../deployment/index.js';
import type { Alteration } from '../rule/index.js';

/** What made a configuration. */
export const archiveChanges = ['create', 'update', 'rotate', 'restore', 'rollback', 'delete'] as const;

/** One of them. */
export type ArchiveChange = (typeof archiveChanges)[number];

/** `archives/<tenant>/<uid>/<revision>`: one accepted configuration of a deployment. Never changed. */
export interface ArchivedRevision {
  /** The generation of the deployment. */
  readonly revision: number;
  readonly at: string;
  /** Public id of the token, or the loop that made the change. */
  readonly by: string;
  /** The request or the rotation. */
  readonly operation: string;
  readonly change: ArchiveChange;
  /** Why, when a loop made the change. */
  readonly reason?: string | undefined;
  /** The revision that a rollback brought back. */
  readonly fromRevision?: number | undefined;
  /** The backup that was restored. */
  readonly fromBackup?: string | undefined;
  readonly specHash: string;
  readonly secretsVersion: number;
  /** What the server stored beside what was sent. */
  readonly alterations: readonly Alteration[];
  readonly spec: Deployment;
}

/** A deleted deployment, by what finds its archive. */
export interface FormerDeployment {
  readonly uid: string;
  readonly lastRevision: number;
  readonly deletedAt: string;
}

/**
 * `former-deployments/<tenant>/<name>`: the deleted deployments that had the name, the oldest first. The next one of that name
 * continues their revisions.
 */
export interface FormerDeployments {
  readonly deployments: readonly FormerDeployment[];
}
