import type { Random } from '../../clock/index.js';
import { keys } from '../../../crds/keys/index.js';
import { type Entry, value } from '../../store/index.js';
import type { CredentialPath } from '../credential-path.js';
import { packDocument, unpackDocument } from '../document.js';
import { UnreadableSecretFault } from '../faults.js';
import type { SecretDocument } from '../secret-store.js';
import type { Versions } from '../versions.js';
import { computeCode, isAuthentic, seal, type SealedRecord, unseal } from './seal.js';
import type { SecretKeyring } from './secret-keyring.js';

/** What is stored of a credential beside its sealed versions. No place for a value. */
export interface CredentialHead extends Versions {
  /** Of this credential: one that is deleted and made again is another, and nothing sealed for the first opens for it. */
  readonly uid: string;
}

interface HeadRecord extends CredentialHead {
  readonly keyId: string;
  /** Proves that the keyring's owner wrote the rest: a version cannot be made current again by whoever can write here. */
  readonly code: string;
}

/** Where the head of a credential is stored. */
export const headKey = ({ tenant, namespace, label }: CredentialPath) => keys.secret(tenant, namespace, label);

/** Where one sealed version is stored. */
export const versionKey = ({ tenant, namespace, label }: CredentialPath, version: number) =>
  keys.secretVersion(tenant, namespace, label, version);

/** The document that stands for a head in the store. */
export function buildHeadRecord(keyring: SecretKeyring, path: CredentialPath, head: CredentialHead): HeadRecord {
  const { writing } = keyring;
  return { ...head, keyId: writing.id, code: computeCode(writing, headFacts(path, head)) };
}

/** The head that an entry holds. Throws when it was not written by an owner of the keyring. */
export function readHead(keyring: SecretKeyring, path: CredentialPath, entry: Entry): CredentialHead {
  const { keyId, code, ...head } = parsed<HeadRecord>(entry);
  const key = keyring.find(keyId);
  if (!key) throw new UnreadableSecretFault(`${entry.key} is sealed with a key that is not in the keyring`);
  if (!Array.isArray(head.live) || !isAuthentic(key, headFacts(path, head), String(code))) {
    throw new UnreadableSecretFault(`${entry.key} was altered, or belongs elsewhere`);
  }
  return head;
}

/** One version of one credential: what its record is bound to. */
export interface VersionIdentity {
  readonly path: CredentialPath;
  readonly uid: string;
  readonly version: number;
}

/** The record that stands for a version in the store. */
export function sealVersion(
  keyring: SecretKeyring,
  random: Random,
  of: VersionIdentity,
  document: SecretDocument,
): SealedRecord {
  return seal(keyring, random, versionFacts(of), packDocument(document));
}

/** The document of a version. Throws when the record is not the one that was written for it. */
export function openVersion(keyring: SecretKeyring, of: VersionIdentity, entry: Entry): SecretDocument {
  const { keyId, salt, box } = parsed<SealedRecord>(entry);
  const sealed = { keyId: String(keyId), salt: String(salt), box: String(box) };
  return unpackDocument(unseal(keyring, versionFacts(of), sealed));
}

/** Whether a record was written with the key that writes now. */
export function isSealedWithWritingKey(keyring: SecretKeyring, entry: Entry): boolean {
  return parsed<{ keyId: string }>(entry).keyId === keyring.writing.id;
}

/** The name of the key that a record is sealed with; undefined for what is no record. */
export function readKeyId(entry: Entry): string | undefined {
  try {
    return String(parsed<{ keyId: string }>(entry).keyId);
  } catch (thrown) {
    if (thrown instanceof UnreadableSecretFault) return undefined;
    throw thrown;
  }
}

function headFacts(
  { tenant, namespace, label }: CredentialPath,
  { uid, last, live, pin }: CredentialHead,
): readonly unknown[] {
  return [tenant, namespace, label, uid, last, live, pin ?? null];
}

function versionFacts({ path: { tenant, namespace, label }, uid, version }: VersionIdentity): readonly unknown[] {
  return [tenant, namespace, label, uid, version];
}

function parsed<T extends object>(entry: Entry): T {
  try {
    const document = value<T | null>(entry);
    if (typeof document === 'object' && document !== null) return document;
  } catch {
    // Not even JSON; said below, without quoting it.
  }
  throw new UnreadableSecretFault(`${entry.key} is not a record of the secrets store`);
}
