import { parseSecretPath } from '../../crds/grammar/index.js';
import { keys } from '../../crds/keys/index.js';
import {
  isRotationOpen,
  readRotationState,
  type RotationFacts,
  type RotationProgress,
  type RotationRecord,
} from '../../crds/rotation/index.js';
import type { CredentialPath } from '../../pkg/secrets/index.js';
import { type Cache, type Entry, findRecordFault, value } from '../../pkg/store/index.js';
import { rejectRequest, RequestRejection } from '../http/reply.js';
import { listSecretPaths, type SubmittedDocument } from './submitted.js';

/** The rotation of one credential, as it is stored. */
export interface StoredRotation {
  readonly label: string;
  readonly path: string;
  readonly entry: Entry | undefined;
  readonly record: RotationRecord | undefined;
  readonly status: Pick<RotationFacts, 'state' | 'waitsFor'>;
  /** The rotation phaser has recorded the new version as this rotation's own. */
  readonly isStaged: boolean;
}

/** Reads the rotation of a credential. */
export function readRotation(cache: Cache, tenant: string, label: string, path: string): StoredRotation {
  const entry = cache.get(keys.rotation(tenant, label));
  const recorded = cache.get(keys.rotationProgress(tenant, label));
  // What cannot be read is not under way: it can be begun again.
  const record = entry && findRecordFault(entry) === undefined ? value<RotationRecord>(entry) : undefined;
  const progress = recorded && value<RotationProgress>(recorded);
  const isStaged = record !== undefined && progress?.id === record.id && progress.staged;
  return { label, path, entry, record, status: readRotationState(record, progress), isStaged };
}

/** The labels that are being rotated, of those that a document or the stored workload refers to. */
export function listRotatingLabels(cache: Cache, tenant: string, submitted: SubmittedDocument): readonly string[] {
  const before = (submitted.stored?.secrets ?? []).flatMap(
    ({ vault_path: path }) => parseSecretPath(path)?.label ?? [],
  );
  const labels = new Set([...listSecretPaths(submitted).map(({ label }) => label), ...before]);
  return [...labels].filter(label => isRotating(cache, tenant, label));
}

/** Refuses to touch a credential that is being rotated. */
export function rejectWhileRotating(cache: Cache, { tenant, label }: CredentialPath): RequestRejection | undefined {
  return isRotating(cache, tenant, label)
    ? rejectRequest('secret_rotation_open', 'resource', label, { label })
    : undefined;
}

function isRotating(cache: Cache, tenant: string, label: string): boolean {
  return isRotationOpen(readRotation(cache, tenant, label, '').status);
}
