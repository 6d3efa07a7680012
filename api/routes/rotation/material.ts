import { isDeepStrictEqual } from 'node:util';

import { formatCount } from '../../../crds/grammar/index.js';
import type { RotationMaterial, RotationRecord, RotationStep } from '../../../crds/rotation/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import { failpoint } from '../../../pkg/failpoint/index.js';
import { mergeDocument } from '../../../pkg/material/index.js';
import {
  type CredentialPath,
  isStorable,
  type SecretDocument,
  toCredentialPath,
  toSecretDocument,
} from '../../../pkg/secrets/index.js';
import { rejectNamespace } from '../../write/material.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { readRotation, type StoredRotation } from '../../admission/rotations.js';

/** What a rotation starts with. */
export interface RotationStart extends Pick<RotationRecord, 'from' | 'to' | 'material'> {
  /** The values that the caller sent: they exist in this request and nowhere else. */
  readonly document?: SecretDocument;
  /** Every key of the present version, where the request says nothing of material: all of them are generated. */
  readonly minted?: readonly string[];
}

/** Announces what a `stage` without material does. */
export function announceMinted(minted: readonly string[] | undefined): readonly Alteration[] {
  if (!minted) return [];
  const why =
    'a stage without values or generate mints every key of the present version again, also those that were supplied';
  return [{ field: 'generate', from: null, to: { keys: minted }, why }];
}

/**
 * Decides what a rotation starts with, and rejects all that can be rejected: once it is stored, no step is. The number of
 * the new version is reserved here, so that it can be created only once.
 */
export async function planStart(
  env: AdmissionEnv,
  tenant: string,
  { rotation, step }: { readonly rotation: StoredRotation; readonly step: RotationStep },
): Promise<RotationStart | RequestRejection> {
  const path = toCredentialPath(tenant, rotation.path);
  const reading = await env.secrets.state(path);
  if (reading.kind === 'forbidden') return rejectNamespace(env, path);
  const { last, current = 0 } = reading.kind === 'found' ? reading.state : { last: 0 };
  const material = chooseMaterial(step, rotation);
  const generation = material.by === 'platform' ? material.generation : step.generation;
  if (current === 0 && !step.values && !generation) return rejectRequest('secret_write_empty', 'values', undefined);

  const document = await mergeMaterial(env, tenant, { path: rotation.path, from: current }, { ...step, generation });
  if (document instanceof RequestRejection) return document;
  const isMintedWhole = material.by === 'platform' && !material.generation;
  return {
    from: current,
    to: last + 1,
    material,
    ...(step.values && { document }),
    ...(isMintedWhole && { minted: [...document.keys()].sort() }),
  };
}

/** Where the new version comes from. A rotation that starts again without material keeps its first choice. */
function chooseMaterial({ values, generation }: RotationStep, { record, status }: StoredRotation): RotationMaterial {
  if (values) return { by: 'caller' };
  if (generation) return { by: 'platform', generation };
  return record && status.state === 'stage' ? record.material : { by: 'platform' };
}

type SubmittedParts = { readonly [Part in 'values' | 'generation']?: RotationStep[Part] | undefined };

/** The document of a new version: what was sent, over what the old version holds. */
export async function mergeMaterial(
  env: AdmissionEnv,
  tenant: string,
  { path: text, from }: Pick<RotationRecord, 'path' | 'from'>,
  { values, generation }: SubmittedParts,
): Promise<SecretDocument | RequestRejection> {
  const path = toCredentialPath(tenant, text);
  const reading = from > 0 ? await env.secrets.read(path, from) : undefined;
  if (reading?.kind === 'forbidden') return rejectNamespace(env, path);
  const present = reading?.kind === 'found' ? reading.document : undefined;
  const document = mergeDocument(present, { values: values ?? {}, ...(generation && { generation }) }, env.random);
  const { secrets: limits } = env.deploymentLimits;
  if (isStorable(document, limits)) return document;
  const wanted = `at most ${formatCount(limits.keysMax, 'key')} and ${formatCount(limits.documentMax, 'byte')}, with what the secret holds already`;
  return rejectRequest('field_invalid', values ? 'values' : 'generate', formatCount(document.size, 'key'), { wanted });
}

/**
 * Whether another writer took the version number of a rotation before the rotation wrote it, which is possible between
 * the two steps. The rotation must then start again.
 */
export async function isVersionTaken(
  env: AdmissionEnv,
  tenant: string,
  { record, status }: StoredRotation,
): Promise<boolean> {
  if (!record || status.waitsFor === undefined) return false;
  const path = toCredentialPath(tenant, record.path);
  const reading = await env.secrets.state(path);
  if (reading.kind !== 'found' || reading.state.last < record.to) return false;
  return (reading.state.current ?? 0) >= record.to || (await env.secrets.read(path, record.to)).kind === 'missing';
}

/**
 * Stages what the caller has sent. `conflict`: another version has this number, or the rotation no longer waits for it
 * and it was destroyed again.
 */
export async function stageDocument(
  env: AdmissionEnv,
  tenant: string,
  record: RotationRecord,
  document: SecretDocument,
): Promise<'written' | 'conflict' | 'forbidden'> {
  const path = toCredentialPath(tenant, record.path);
  failpoint('rotation.supplying');
  const before = await readUid(env, path);
  const condition = before === undefined ? {} : { uid: before };
  const { kind } = await env.secrets.write(path, { document, after: record.to - 1, as: 'pending', ...condition });
  failpoint('rotation.supplied');
  if (kind !== 'written') return kind;
  await env.cache.barrier();
  if (!isStray(record, readRotation(env.cache, tenant, path.label, record.path))) return 'written';
  const uid = before ?? (await readUid(env, path));
  if (uid !== undefined) await env.secrets.destroy(path, record.to, { uid });
  return 'conflict';
}

/** Undefined when there is no such credential. */
async function readUid(env: AdmissionEnv, path: CredentialPath): Promise<string | undefined> {
  const reading = await env.secrets.state(path);
  return reading.kind === 'found' ? reading.uid : undefined;
}

/**
 * Whether a version was written after its rotation was aborted, so that nothing would ever remove it. One that a rotation has
 * recorded as its own is that rotation's: containers may have it.
 */
function isStray({ id }: RotationRecord, { record, isStaged }: StoredRotation): boolean {
  if (isStaged) return false;
  return record === undefined || record.phase === 'abort' || (record.id !== id && record.phase === 'stage');
}

/** What a repeated `stage` brings that is not what was staged: it changes nothing, and must not look as if it did. */
export function warnIgnoredMaterial(
  { values = {}, generation }: RotationStep,
  { material }: RotationRecord,
  staged: SecretDocument | undefined,
): readonly Warning[] {
  const isGiven = [...toSecretDocument(values)].every(([key, secret]) => staged?.get(key)?.equals(secret));
  const isMinted =
    material.by === 'platform'
      ? isDeepStrictEqual(material.generation, generation)
      : generation?.keys.every(key => staged?.has(key));
  const fields = [...(isGiven ? [] : ['values']), ...(generation === undefined || isMinted ? [] : ['generate'])];
  const message = 'other material is staged and was kept; abort the rotation to stage this one';
  return fields.map(field => ({ code: 'rotation_material_ignored', field, message }));
}
