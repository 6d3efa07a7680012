import { parseSecretPath } from '../../crds/grammar/index.js';
import { reject } from '../../crds/rejections/index.js';
import { isRotationOpen } from '../../crds/rotation/index.js';
import type { CredentialPath } from '../../pkg/secrets/index.js';
import type { Cache } from '../../pkg/store/index.js';
import { Refused } from '../refusal.js';
import { rotationOf } from '../views/rotation.js';
import { type Asked, secretPathsIn } from './asked.js';

/** The labels that are being rotated, of those that a document or the stored workload refers to. */
export function rotatingLabels(cache: Cache, tenant: string, asked: Asked): readonly string[] {
  const before = (asked.stored?.secrets ?? []).flatMap(({ vault_path: path }) => parseSecretPath(path)?.label ?? []);
  const labels = new Set([...secretPathsIn(asked).map(({ label }) => label), ...before]);
  return [...labels].filter(label => isRotating(cache, tenant, label));
}

/** Refuses to touch a credential that is being rotated. */
export function refuseWhileRotating(cache: Cache, { tenant, label }: CredentialPath): Refused | undefined {
  return isRotating(cache, tenant, label)
    ? new Refused(reject('secret_rotation_open', 'resource', label, { label }))
    : undefined;
}

function isRotating(cache: Cache, tenant: string, label: string): boolean {
  return isRotationOpen(rotationOf(cache, tenant, label, '').standing);
}
