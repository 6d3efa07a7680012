/**
 * The first tenants and tokens of a control plane, made on the store itself: before them no one may ask the API for any.
 *
 * `bootstrap` is for a development set-up and keeps what it makes in a file; `bootstrapAdministrator` is for operators.
 *
 * @module
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

import { keys, ranges } from '../../crds/keys/index.js';
import type { StoredTenant, StoredToken } from '../../crds/tenant/index.js';
import { type Keyring, mintToken, parseToken, type TokenDraft, verifyToken } from '../auth/index.js';
import type { Clock, Random } from '../clock/index.js';
import { Fault } from '../fault/index.js';
import { create, type Store, value } from '../store/index.js';

/** What a development set-up is used with. */
export interface DevelopmentAccess {
  readonly platform: { readonly id: string; readonly name: string };
  readonly tenant: { readonly id: string; readonly name: string };
  /** Of a platform administrator. */
  readonly adminToken: string;
  /** Of an administrator of that tenant. */
  readonly tenantToken: string;
}

export interface BootstrapOptions {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly random: Random;
  /** The file that the tokens are written to, readable by its owner only. */
  readonly file: string;
}

/** What is kept beside the tokens, so that their records can be made again without their secrets. */
interface BootstrapFile extends DevelopmentAccess {
  readonly records: readonly StoredToken[];
}

/** The file that the tokens are kept in cannot be read. */
class DamagedFileFault extends Fault {
  readonly retriable = false;
}

const LIFE_SECONDS = 365 * 24 * 3600;
const PLATFORM = 'platform';
const DEMO = 'demo';

/**
 * Gives a fresh control plane its first tenants and tokens, and finds them again ever after.
 *
 * The file is written before the store, so a crash in between loses nothing: the next run stores what the file says.
 */
export async function bootstrap(options: BootstrapOptions): Promise<DevelopmentAccess> {
  const access = readBootstrapFile(options) ?? (await createBootstrapFile(options));
  const { store, clock } = options;
  const createdAt = new Date(clock.now()).toISOString();
  await ensure(store, keys.tenant(access.platform.id), { ...access.platform, createdAt, platform: true });
  await ensure(store, keys.tenant(access.tenant.id), { ...access.tenant, createdAt, platform: false });
  for (const record of access.records) await ensure(store, keys.token(record.id), record);
  const { platform, tenant, adminToken, tenantToken } = access;
  return { platform, tenant, adminToken, tenantToken };
}

async function ensure(store: Store, key: string, document: StoredTenant | StoredToken): Promise<void> {
  if (!(await store.get(key))) await create(store, key, document);
}

/** What the file says, if all of it can still be used. */
function readBootstrapFile({ file, keyring, clock }: BootstrapOptions): BootstrapFile | undefined {
  if (!existsSync(file)) return undefined;
  const access = parseBootstrapFile(readFileSync(file, 'utf8'));
  if (!access)
    throw new DamagedFileFault(`${file} is damaged: remove it, and new tokens are written at the next start`);
  const isGood = [access.adminToken, access.tenantToken].every(text => {
    const parsed = parseToken(text);
    const record = access.records.find(({ id }) => id === parsed?.id);
    return parsed && verifyToken(parsed, record, keyring, clock.now()).ok;
  });
  return isGood ? access : undefined;
}

function parseBootstrapFile(text: string): BootstrapFile | undefined {
  try {
    const { platform, tenant, adminToken, tenantToken, records } = JSON.parse(text) as Partial<BootstrapFile>;
    const isWhole = platform?.id && tenant?.id && adminToken && tenantToken && Array.isArray(records);
    return isWhole ? { platform, tenant, adminToken, tenantToken, records } : undefined;
  } catch {
    return undefined;
  }
}

async function createBootstrapFile(options: BootstrapOptions): Promise<BootstrapFile> {
  const known = await readTenants(options);
  const platform = known(PLATFORM, true);
  const tenant = known(DEMO, false);
  const mint = (draft: Pick<TokenDraft, 'kind' | 'tenant' | 'role'>) =>
    mintToken({ ...draft, description: 'development', createdBy: 'bootstrap', lifeSeconds: LIFE_SECONDS }, options);
  const admin = mint({ kind: 'admin' });
  const demo = mint({ kind: 'tenant', tenant: tenant.id, role: 'admin' });
  const access: BootstrapFile = {
    platform,
    tenant,
    adminToken: admin.text,
    tenantToken: demo.text,
    records: [admin.stored, demo.stored],
  };
  writePrivately(options.file, `${JSON.stringify(access, undefined, 2)}\n`);
  return access;
}

/** Finds tenants by their name; those that are not there yet get an id. */
async function readTenants({ store, random }: Pick<BootstrapOptions, 'store' | 'random'>) {
  const { entries } = await store.list(ranges.tenants);
  const tenants = entries.map(entry => value<StoredTenant>(entry));
  return (name: string, platform: boolean) => {
    const tenant = tenants.find(candidate => candidate.name === name && candidate.platform === platform);
    return { id: tenant?.id ?? random.uuid(), name };
  };
}

/** What came of asking for the first administrator. */
export type FirstAdministrator =
  | { readonly token: string; readonly record: StoredToken }
  /** There is one whose token is valid. */
  | { readonly token: undefined; readonly record: StoredToken };

/**
 * Gives a control plane its platform tenant and an administrator. Where one has a valid token nothing is made, unless `another`
 * says that its token was lost.
 */
export async function bootstrapAdministrator(
  options: Omit<BootstrapOptions, 'file'> & { readonly another: boolean },
): Promise<FirstAdministrator> {
  const { store, clock, another } = options;
  const platform = (await readTenants(options))(PLATFORM, true);
  const createdAt = new Date(clock.now()).toISOString();
  await ensure(store, keys.tenant(platform.id), { ...platform, createdAt, platform: true });
  const { entries } = await store.list(ranges.tokens);
  const found = entries
    .map(entry => value<StoredToken>(entry))
    .find(({ kind, expiresAt }) => kind === 'admin' && Date.parse(expiresAt) > clock.now());
  if (found && !another) return { token: undefined, record: found };
  const draft = { kind: 'admin', description: 'first administrator', createdBy: 'moor admin bootstrap' } as const;
  const { text, stored } = mintToken({ ...draft, lifeSeconds: LIFE_SECONDS }, options);
  await create(store, keys.token(stored.id), stored);
  return { token: text, record: stored };
}

/** Writes the file atomically; only its owner can ever read it. */
function writePrivately(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}`;
  const file = openSync(draft, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}
