/**
 * Secret material that comes with a record: it is written to the secrets store together with an etcd transaction.
 *
 * The two stores share no transaction, so an intent, a record without values, says what is in progress:
 *
 * 1. `stageMaterial` stores the intent, then writes the new versions as pending.
 * 2. The caller commits its record through `advanceIntent`: record and intent change in one transaction.
 * 3. `settleIntent` makes the new versions current and deletes the intent; `undoIntent` destroys those versions instead.
 *
 * After a crash the janitor calls `completeIntent`, which continues from the state of the intent.
 *
 * It leaves to others what may be written (`crds/secret`) and where it is stored (`pkg/secrets`).
 *
 * @module
 */
import { keys } from '../../crds/keys/index.js';
import type { SecretWrite } from '../../crds/secret/index.js';
import type { Clock, Random } from '../clock/index.js';
import { failpoint } from '../failpoint/index.js';
import {
  type CredentialPath,
  formatVaultPath,
  generateDocument,
  type SecretDocument,
  SecretOutcomeUnknownFault,
  toCredentialPath,
  toSecretDocument,
} from '../secrets/index.js';
import { type Change, create, encode } from '../store/index.js';
import { type IntentWrite, type MaterialEnv, type SecretIntent, type StagedMaterial, undoIntent } from './intent.js';

export * from './intent.js';

/** The material, and the request it came with. */
export interface StageRequest {
  readonly tenant: string;
  readonly subject: string;
  readonly operation: string;
  readonly material: readonly SecretWrite[];
  /** The keys that each credential had when the material was validated. */
  readonly seen: Readonly<Record<string, readonly string[]>>;
}

/** `nothing`: the secrets store already has all of it. `conflict`: another writer was first; nothing of ours is left. */
export type StageOutcome =
  | { readonly kind: 'staged'; readonly staged: StagedMaterial }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'forbidden'; readonly path: string };

export interface StageEnv extends MaterialEnv {
  readonly clock: Clock;
  readonly random: Random;
}

/** Writes material as pending versions. Given keys are merged over those that a credential already has. */
export async function stageMaterial(env: StageEnv, request: StageRequest): Promise<StageOutcome> {
  const plans = await Promise.all(groupByPath(request).map(writes => planWrite(env, request, writes)));
  const refusal = plans.find(each => each.kind === 'forbidden') ?? plans.find(each => each.kind === 'conflict');
  if (refusal) return refusal;
  const planned = plans.filter(each => each.kind === 'planned');
  if (planned.length === 0) return { kind: 'nothing' };

  const staged = await storeIntent(env, request, planned);
  const outcomes = await Promise.allSettled(planned.map(one => writeVersion(env, one)));
  const written = staged.intent.writes.filter((_, position) => {
    const outcome = outcomes[position];
    return outcome?.status === 'fulfilled' && outcome.value;
  });
  if (written.length === planned.length) return { kind: 'staged', staged };
  const failures = outcomes.filter(outcome => outcome.status === 'rejected');
  // When the outcome of a write is unknown, the janitor finds out from the intent.
  const isUnknown = failures.some(({ reason }) => reason instanceof SecretOutcomeUnknownFault);
  if (!isUnknown) await undoIntent(env, staged, written);
  if (failures[0]) throw failures[0].reason;
  return { kind: 'conflict' };
}

/** Adds the intent to the change, so that both are stored together; then the versions become current. */
export function advanceIntent({ guards, puts, ...change }: Change, { key, revision, intent }: StagedMaterial): Change {
  const stored: SecretIntent = { ...intent, state: 'stored' };
  return { ...change, guards: [...guards, { key, at: revision }], puts: [...puts, { key, bytes: encode(stored) }] };
}

type Plan =
  | PlannedWrite
  | { readonly kind: 'unchanged' }
  /** Its keys differ from those that the material was validated against. */
  | { readonly kind: 'conflict' }
  | { readonly kind: 'forbidden'; readonly path: string };

interface PlannedWrite {
  readonly kind: 'planned';
  readonly path: CredentialPath;
  readonly document: SecretDocument;
  readonly last: number;
  /** The credential; undefined when there is none yet. */
  readonly uid: string | undefined;
}

/** Several entries of one document may have material for the same credential. */
function groupByPath({ material }: StageRequest): readonly (readonly [string, readonly SecretWrite[]])[] {
  const groups = new Map<string, SecretWrite[]>();
  for (const write of material) {
    const path = `${write.namespace}/${write.label}`;
    groups.set(path, [...(groups.get(path) ?? []), write]);
  }
  return [...groups];
}

async function planWrite(
  { secrets, random }: StageEnv,
  { tenant, seen }: StageRequest,
  [text, writes]: readonly [string, readonly SecretWrite[]],
): Promise<Plan> {
  const path = toCredentialPath(tenant, text);
  const state = await secrets.state(path);
  if (state.kind === 'forbidden') return { kind: 'forbidden', path: formatVaultPath(path) };
  const { last, current } = state.kind === 'found' ? state.state : { last: 0, current: undefined };
  const uid = state.kind === 'found' ? state.uid : undefined;
  const reading = current === undefined ? undefined : await secrets.read(path, current);
  const existing = reading?.kind === 'found' ? reading.document : undefined;
  if (String(seen[text] ?? []) !== String([...(existing?.keys() ?? [])].sort())) return { kind: 'conflict' };
  const document = writes.reduce<SecretDocument | undefined>(
    (before, write) => mergeDocument(before, write, random),
    existing,
  );
  return document && document !== existing ? { kind: 'planned', path, document, last, uid } : { kind: 'unchanged' };
}

async function storeIntent(
  env: StageEnv,
  request: StageRequest,
  planned: readonly PlannedWrite[],
): Promise<StagedMaterial> {
  const { tenant, subject, operation } = request;
  const key = keys.intent(tenant, env.random.uuid());
  const writes = planned.map(
    ({ path, last, uid }): IntentWrite => ({
      path: formatVaultPath(path),
      version: last + 1,
      ...(uid !== undefined && { uid }),
    }),
  );
  const at = new Date(env.clock.now()).toISOString();
  const intent: SecretIntent = { state: 'writing', tenant, subject, operation, at, writes };
  failpoint('material.planned');
  const verdict = await create(env.store, key, intent);
  failpoint('material.intent_stored');
  return { key, revision: verdict.stored ? verdict.revision : 0, intent };
}

/** False when another writer was first. */
async function writeVersion({ secrets }: StageEnv, { path, document, last, uid }: PlannedWrite): Promise<boolean> {
  const condition = uid === undefined ? {} : { uid };
  const written = await secrets.write(path, { document, after: last, as: 'pending', ...condition });
  failpoint('material.version_written');
  return written.kind === 'written';
}

/** Merges given and generated keys over the existing ones. Returns the same document when nothing changes. */
export function mergeDocument(
  existing: SecretDocument | undefined,
  { values, generation }: Pick<SecretWrite, 'values' | 'generation'>,
  random: Random,
): SecretDocument {
  const merged = new Map(existing);
  const minted: SecretDocument = generation ? generateDocument(generation, random) : new Map();
  let differs = false;
  for (const [key, secret] of [...toSecretDocument(values), ...minted]) {
    if (!existing?.get(key)?.equals(secret)) differs = true;
    merged.set(key, secret);
  }
  return differs || !existing ? merged : existing;
}
