import { parseAnchor } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { type Alteration, recordAlterations } from '../../../crds/rule/index.js';
import { checkSecretWrite, type SecretWrite } from '../../../crds/secret/index.js';
import { GENERATE_KEPT } from '../../../crds/workload/index.js';
import {
  type CredentialPath,
  toCredentialPath,
  toSecretDocument,
  generateDocument,
  type SecretDocument,
  formatVaultPath,
} from '../../../pkg/secrets/index.js';
import { forbidden } from '../../admission/commit.js';
import { quotasOf } from '../../admission/quota.js';
import { anchorsOf } from '../../admission/relations.js';
import { refuseWhileRotating } from '../../admission/rotations.js';
import { secretSubject } from '../../admission/conflict-keys.js';
import { attempts } from '../../http/concurrency.js';
import type { Call } from '../../http/call.js';
import type { ApiEnv } from '../../env.js';
import { flagIn } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import { json } from '../../http/reply.js';
import type { Outcome } from '../../http/route.js';
import { trialReply } from '../../admission/dry-run.js';

/** Writes the next version of a credential, which replaces the one before. Answers names and numbers, never a value. */
export async function writeSecret(env: ApiEnv, call: Call): Promise<Outcome> {
  const { params, document, tenant, query } = call;
  const isTrial = flagIn(query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const asked = { namespace: params['namespace']!, resource: params['resource']!, document };
  const { namespaces } = env.still.secretsPolicy;
  const checked = checkSecretWrite(asked, namespaces, env.deploymentLimits.secrets);
  if (!checked.ok) return new Refused(checked.rejections);
  await env.cache.barrier();
  if (!env.cache.get(keys.tenant(tenant))) return new Refused(reject('resource_not_found', 'X-Tenant-ID', tenant));

  const path = toCredentialPath(tenant, `${checked.value.namespace}/${checked.value.label}`);
  if (isTrial) return refuseWhileRotating(env.cache, path) ?? tryWrite(env, path, checked.value);
  const turns = [keys.turn(tenant, secretSubject(path.label))];
  return env.turnstile.pass(turns, () => writeNext(env, call, path, checked.value));
}

async function writeNext(env: ApiEnv, call: Call, path: CredentialPath, write: SecretWrite): Promise<Outcome> {
  return attempts(formatVaultPath(path), async () => {
    await env.cache.barrier();
    const plan = refuseWhileRotating(env.cache, path) ?? (await planOf(env, path, write));
    if (plan instanceof Refused) return plan;
    const { last, document, alterations } = plan;
    const written = await env.secrets.write(path, { document, after: last, as: 'current' });
    if (written.kind === 'forbidden') return forbidden(env, path);
    if (written.kind === 'conflict') return undefined;
    await announce(env, call, path, written.version);
    const view = viewOf(path, document, written.version);
    return json(last === 0 ? 201 : 200, { ...view, alterations, warnings: [] });
  });
}

async function tryWrite(env: ApiEnv, path: CredentialPath, write: SecretWrite): Promise<Outcome> {
  const reading = await env.secrets.read(path);
  if (reading.kind === 'forbidden') return forbidden(env, path);
  const plan = await planOf(env, path, write);
  if (plan instanceof Refused) return plan;
  const { last, document, alterations } = plan;
  const before = reading.kind === 'found' && { before: viewOf(path, reading.document, reading.version) };
  return trialReply({ ...before, after: viewOf(path, document, last + 1), alterations });
}

interface Plan {
  /** The version that the new one comes after. */
  readonly last: number;
  readonly document: SecretDocument;
  readonly alterations: readonly Alteration[];
}

/** What is to be written. What a volume was set up with is kept: only a rotation mints it anew. */
async function planOf(env: ApiEnv, path: CredentialPath, { values, generation }: SecretWrite): Promise<Plan | Refused> {
  const anchors = anchorsOf(env.cache, path.tenant, formatVaultPath(path));
  if (generation && anchors.includes('external')) {
    return new Refused(reject('secret_external_not_writable', 'generate', generation.keys));
  }
  const last = await lastVersion(env, path);
  if (last instanceof Refused) return last;
  const full = last === 0 && tooMany(env, path);
  if (full) return full;
  const given = toSecretDocument(values);
  if (!generation) return { last, document: given, alterations: [] };

  // Read after the number: when another version comes between the two, the write is found to be late.
  const reading = anchors.some(isOfVolume) ? await env.secrets.read(path) : undefined;
  if (reading?.kind === 'forbidden') return forbidden(env, path);
  const present: SecretDocument = reading?.kind === 'found' ? reading.document : new Map();
  const kept = [...present].filter(([key]) => generation.keys.includes(key));
  const due = { ...generation, keys: generation.keys.filter(key => !present.has(key)) };
  const { alterations, announce: note } = recordAlterations();
  if (kept.length > 0) note('generate.keys', generation.keys, due.keys, GENERATE_KEPT);
  return { last, document: new Map([...given, ...kept, ...generateDocument(due, env.random)]), alterations };
}

function isOfVolume(anchor: string): boolean {
  return parseAnchor(anchor)?.to === 'volume';
}

async function lastVersion(env: ApiEnv, path: CredentialPath): Promise<number | Refused> {
  const state = await env.secrets.state(path);
  if (state.kind === 'forbidden') return forbidden(env, path);
  return state.kind === 'found' ? state.state.last : 0;
}

/** Whether the tenant may have no credential more. Only those in the platform's own store are counted. */
function tooMany(env: ApiEnv, { tenant, label }: CredentialPath): Refused | undefined {
  const { secrets: limit } = quotasOf(env, tenant);
  if (limit === undefined || env.usage.of(tenant).secrets < limit) return undefined;
  return new Refused(reject('quota_reached', 'resource', label, { kind: 'secrets', limit }));
}

function pathView({ namespace, label }: CredentialPath) {
  return { namespace, resource: label, path: `${namespace}/${label}` };
}

/** What may be said of a credential: which keys it has, and how often it was written. */
function viewOf(path: CredentialPath, document: SecretDocument, version: number) {
  return { ...pathView(path), keys: [...document.keys()].sort(), version };
}

/** The write was made and stands; that it cannot be announced must not make it look undone. */
async function announce(
  env: ApiEnv,
  { tenant, caller, requestId }: Call,
  path: CredentialPath,
  version: number,
): Promise<void> {
  try {
    const event = await env.events.put({
      type: 'secret.written',
      tenant,
      subject: { kind: 'Secret', name: formatVaultPath(path), id: formatVaultPath(path) },
      reason: 'written',
      message: `secret ${formatVaultPath(path)} was written`,
      data: { version, by: caller.id },
    });
    await env.store.commit({ guards: [{ key: event.key, at: 0 }], puts: [event], deletes: [] });
  } catch {
    env.log.warn('the event of a written secret was lost', { requestId, tenant, key: formatVaultPath(path) });
  }
}
