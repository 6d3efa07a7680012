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

/** What is stored of a credential besides its sealed versions. It cannot hold a value. */
export interface CredentialHead extends Versions {
  /** Unique to this credential: after deletion and re-creation it differs, and old records no longer open. */
  readonly uid: string;
}

interface HeadRecord extends CredentialHead {
  readonly keyId: string;
  /** MAC over the head: without the key, an old version cannot be made current again. */
  readonly code: string;
}

export const buildHeadKey = ({ tenant, namespace, label }: CredentialPath) => keys.secret(tenant, namespace, label);

export const buildVersionKey = ({ tenant, namespace, label }: CredentialPath, version: number) =>
  keys.secretVersion(tenant, namespace, label, version);

export function buildHeadRecord(keyring: SecretKeyring, path: CredentialPath, head: CredentialHead): HeadRecord {
  const { writing } = keyring;
  return { ...head, keyId: writing.id, code: computeCode(writing, headFacts(path, head)) };
}

/** Reads a head. Throws when it was not written with a key of the keyring. */
export function readHead(keyring: SecretKeyring, path: CredentialPath, entry: Entry): CredentialHead {
  const { keyId, code, ...head } = parsed<HeadRecord>(entry);
  const key = keyring.find(keyId);
  if (!key) throw new UnreadableSecretFault(`${entry.key} is sealed with a key that is not in the keyring`);
  if (!Array.isArray(head.live) || !isAuthentic(key, headFacts(path, head), String(code))) {
    throw new UnreadableSecretFault(`${entry.key} was altered, or copied from another place`);
  }
  return head;
}

/** One version of one credential. Its record is bound to it. */
export interface VersionIdentity {
  readonly path: CredentialPath;
  readonly uid: string;
  readonly version: number;
}

export function sealVersion(
  keyring: SecretKeyring,
  random: Random,
  of: VersionIdentity,
  document: SecretDocument,
): SealedRecord {
  return seal(keyring, random, versionFacts(of), packDocument(document));
}

/** Opens a version. Throws when the record was not written for it. */
export function openVersion(keyring: SecretKeyring, of: VersionIdentity, entry: Entry): SecretDocument {
  const { keyId, salt, box } = parsed<SealedRecord>(entry);
  const sealed = { keyId: String(keyId), salt: String(salt), box: String(box) };
  return unpackDocument(unseal(keyring, versionFacts(of), sealed));
}

export function isSealedWithWritingKey(keyring: SecretKeyring, entry: Entry): boolean {
  return parsed<{ keyId: string }>(entry).keyId === keyring.writing.id;
}

/** The name of the key that a record is sealed with; undefined when it is not a record. */
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
    // Not JSON: reported below, without quoting it.
  }
  throw new UnreadableSecretFault(`${entry.key} is not a record of the secrets store`);
}
