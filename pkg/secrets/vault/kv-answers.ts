import { parseSecretDocument } from '../document.js';
import { SecretStoreUnavailableFault } from '../faults.js';
import type { SecretDocument } from '../secret-store.js';
import type { Versions } from '../versions.js';

/** The custom metadata that names the current version while it is not the highest. */
export const PIN = 'mooring-current';

type Fields = Readonly<Record<string, unknown>>;
type CustomMetadata = Readonly<Record<string, string>>;

/** One version, as `data/<path>` returns it. */
export interface KvVersion {
  readonly version: number;
  readonly document: SecretDocument;
  readonly pin?: number;
}

/** The versions, as `metadata/<path>` returns them. */
export interface KvMetadata {
  readonly versions: Versions;
  /** When the credential was made: one that was deleted and recreated has another time. */
  readonly uid: string;
  /** All custom metadata, so that entries of others are preserved. */
  readonly custom: CustomMetadata;
}

export function parseKvVersion(body: unknown): KvVersion {
  const { data, metadata } = fields(body, 'data');
  const { version, custom_metadata: custom } = fields({ metadata }, 'metadata');
  return { version: whole(version), document: parseSecretDocument(data), ...pinIn(custom) };
}

export function parseKvWrite(body: unknown): { readonly version: number; readonly pin?: number } {
  const { version, custom_metadata: custom } = fields(body, 'data');
  return { version: whole(version), ...pinIn(custom) };
}

/** The names below a path, as the list of its metadata returns them; folders end in `/`. */
export function parseKvList(body: unknown): readonly string[] {
  const { keys } = fields(body, 'data');
  if (!Array.isArray(keys)) throw new SecretStoreUnavailableFault('the secrets server answered a list without keys');
  return keys.filter(key => typeof key === 'string' && !key.endsWith('/'));
}

/** Parses the response to reading the metadata. `now` decides which scheduled deletions have passed. */
export function parseKvMetadata(body: unknown, now: number): KvMetadata {
  const data = fields(body, 'data');
  const live = Object.entries(fields(data, 'versions'))
    .filter(([, version]) => isLive(version as Fields, now))
    .map(([version]) => whole(Number(version)))
    .sort((a, b) => a - b);
  const custom = (data['custom_metadata'] ?? {}) as CustomMetadata;
  const uid = typeof data['created_time'] === 'string' ? data['created_time'] : '';
  return { versions: { last: whole(data['current_version']), live, ...pinIn(custom) }, uid, custom };
}

/** Whether a 404 means a deleted version of an existing credential. */
export function isGoneVersion(body: unknown): boolean {
  const data = (body as Fields | undefined)?.['data'] as Fields | undefined;
  return typeof data?.['metadata'] === 'object';
}

function isLive({ destroyed, deletion_time: deleted }: Fields, now: number): boolean {
  if (destroyed !== false) return false;
  return deleted === '' || deleted === undefined || (typeof deleted === 'string' && Date.parse(deleted) > now);
}

function pinIn(custom: unknown): { pin?: number } {
  const text = (custom as CustomMetadata | null | undefined)?.[PIN];
  return text === undefined ? {} : { pin: whole(Number(text)) };
}

function fields(body: unknown, name: string): Fields {
  const found = (body as Fields | undefined)?.[name];
  if (typeof found !== 'object' || found === null) throw invalidResponse();
  return found as Fields;
}

function whole(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw invalidResponse();
  return value as number;
}

/** Another service listens at that address, or an unsupported server. */
function invalidResponse(): SecretStoreUnavailableFault {
  return new SecretStoreUnavailableFault(
    'the secrets server did not send a KV version 2 response: check vaultAddress and vaultMount',
  );
}
