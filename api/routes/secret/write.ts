import type { StoredDeployment } from '../../../crds/deployment/index.js';
import type { StoredJob } from '../../../crds/job/index.js';
import { findPlaceholders, isSecretLabel, parseAnchor, parseTemplate } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { recordAlterations, type Warning } from '../../../crds/rule/index.js';
import { checkSecretWrite, type SecretWrite } from '../../../crds/secret/index.js';
import { GENERATE_KEPT } from '../../../crds/workload/index.js';
import {
  type CredentialPath,
  formatVaultPath,
  generateDocument,
  parseCredentialPath,
  type SecretDocument,
  SecretPreconditionFault,
  toCredentialPath,
  toSecretDocument,
} from '../../../pkg/secrets/index.js';
import { value } from '../../../pkg/store/index.js';
import { rejectNamespace } from '../../write/material.js';
import { guardConflictKeys, putConflictKeys, toSecretSubject } from '../../admission/conflict-keys.js';
import { replyDryRun } from '../../write/answer.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { readQuotas } from '../../admission/quota.js';
import { listAnchors, listSecretJobs, listSecretUserNames, listSecretUsers } from '../../admission/relations.js';
import { rejectWhileRotating } from '../../admission/rotations.js';
import { retryOnConflict } from '../../http/concurrency.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import type { ApiCall, RouteResult } from '../../http/route.js';

/** Writes the next version of a credential, which replaces the one before. Answers names and numbers, never a value. */
export async function writeSecret(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const { params, document, tenant, isDryRun } = call;
  const submitted = { namespace: params['namespace']!, resource: params['resource']!, document };
  const { namespaces } = env.staticFacts.secretsPolicy;
  const checked = checkSecretWrite(submitted, namespaces, env.deploymentLimits.secrets);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  await env.cache.barrier();
  if (!env.cache.get(keys.tenant(tenant))) return rejectRequest('resource_not_found', 'X-Tenant-ID', tenant);

  const path = toCredentialPath(tenant, `${checked.value.namespace}/${checked.value.label}`);
  if (isDryRun) return rejectWhileRotating(env.cache, path) ?? dryRunWrite(env, path, checked.value);
  const conflictKeys = [keys.conflict(tenant, toSecretSubject(path.label))];
  return env.mutex.run(conflictKeys, () => writeNext(env, call, path, checked.value));
}

async function writeNext(
  env: AdmissionEnv,
  call: ApiCall,
  path: CredentialPath,
  write: SecretWrite,
): Promise<RouteResult> {
  return retryOnConflict(formatVaultPath(path), async () => {
    await env.cache.barrier();
    const plan = rejectWhileRotating(env.cache, path) ?? (await planWrite(env, path, write));
    if (plan instanceof RequestRejection) return plan;
    const { last, document, alterations } = plan;
    // Where secrets are in etcd too: a tenant that is deleted meanwhile gets no secret.
    const guards = [{ key: keys.tenant(call.tenant), exists: true }] as const;
    const written = await env.secrets
      .write(path, { document, after: last, as: 'current', guards })
      .catch((thrown: unknown) => {
        if (thrown instanceof SecretPreconditionFault) return 'refused' as const;
        throw thrown;
      });
    if (written === 'refused') return rejectRequest('resource_not_found', 'X-Tenant-ID', call.tenant);
    if (written.kind === 'forbidden') return rejectNamespace(env, path);
    if (written.kind === 'conflict') return undefined;
    await recordEvent(env, call, path, written.version);
    const view = toSecretView(path, document, written.version);
    const warnings = warnMissingKeys(env, path, document);
    return replyJson(last === 0 ? 201 : 200, { ...view, alterations, warnings });
  });
}

async function dryRunWrite(env: AdmissionEnv, path: CredentialPath, write: SecretWrite): Promise<RouteResult> {
  const reading = await env.secrets.read(path);
  if (reading.kind === 'forbidden') return rejectNamespace(env, path);
  const plan = await planWrite(env, path, write);
  if (plan instanceof RequestRejection) return plan;
  const { last, document, alterations } = plan;
  const before = reading.kind === 'found' && { before: toSecretView(path, reading.document, reading.version) };
  const warnings = warnMissingKeys(env, path, document);
  return replyDryRun({ ...before, after: toSecretView(path, document, last + 1), alterations, warnings });
}

/** The document to write. Material that a volume was set up with is kept: only a rotation generates it again. */
async function planWrite(env: AdmissionEnv, path: CredentialPath, { values, generation }: SecretWrite) {
  const anchors = listAnchors(env.cache, path.tenant, formatVaultPath(path));
  if (generation && anchors.includes('external')) {
    return rejectRequest('secret_external_not_writable', 'generate', generation.keys);
  }
  const state = await env.secrets.state(path);
  if (state.kind === 'forbidden') return rejectNamespace(env, path);
  const last = state.kind === 'found' ? state.state.last : 0;
  const full = last === 0 && rejectAboveQuota(env, path);
  if (full) return full;
  const given = toSecretDocument(values);
  if (!generation) return { last, document: given, alterations: [] };

  // Read after the version number: when another version is written in between, the write conflicts.
  const reading = anchors.some(anchor => parseAnchor(anchor)?.to === 'volume')
    ? await env.secrets.read(path)
    : undefined;
  if (reading?.kind === 'forbidden') return rejectNamespace(env, path);
  const present: SecretDocument = reading?.kind === 'found' ? reading.document : new Map();
  const kept = [...present].filter(([key]) => generation.keys.includes(key));
  const due = { ...generation, keys: generation.keys.filter(key => !present.has(key)) };
  const { alterations, announce: note } = recordAlterations();
  if (kept.length > 0) note('generate.keys', generation.keys, due.keys, GENERATE_KEPT);
  return { last, document: new Map([...given, ...kept, ...generateDocument(due, env.random)]), alterations };
}

/** Rejects a new credential above the quota. Only those in the platform's own store are counted. */
function rejectAboveQuota(env: AdmissionEnv, { tenant, label }: CredentialPath): RequestRejection | undefined {
  const { secrets: limit } = readQuotas(env, tenant);
  if (limit === undefined || env.usage.of(tenant).secrets < limit) return undefined;
  return rejectRequest('quota_reached', 'resource', label, { kind: 'secrets', limit });
}

/** Warns of the keys that templates of deployments use and that the new version does not hold. */
function warnMissingKeys({ cache }: AdmissionEnv, path: CredentialPath, document: SecretDocument): readonly Warning[] {
  const users = [listSecretUsers, listSecretJobs].flatMap(list => list(cache, path.tenant, path.label));
  return users.flatMap(entry => {
    const { kind, name, composedSecrets = {} } = value<StoredDeployment | StoredJob>(entry);
    const used = Object.values(composedSecrets).flatMap(template => findPlaceholders(parseTemplate(template) ?? []));
    const missing = used.filter(({ resource, key }) => resource === path.label && !document.has(key));
    return [...new Set(missing.map(({ key }) => key))].map(key => ({
      code: 'secret_key_in_use',
      field: 'values',
      message: `a template of ${kind.toLowerCase()} ${name} uses the key ${key}, which this version does not hold; no new container of it is created until it does`,
    }));
  });
}

/** The public part of a credential: the names of its keys, and how often it was written. */
function toSecretView({ namespace, label }: CredentialPath, document: SecretDocument, version: number) {
  return { namespace, resource: label, path: `${namespace}/${label}`, keys: [...document.keys()].sort(), version };
}

/** The secret is written: failing to store its event must not make the request look failed. */
async function recordEvent(
  env: AdmissionEnv,
  { tenant, caller, requestId }: ApiCall,
  path: CredentialPath,
  version: number,
): Promise<void> {
  const name = formatVaultPath(path);
  try {
    const event = await env.events.put({
      type: 'secret.written',
      tenant,
      subject: { kind: 'Secret', name, id: name },
      reason: 'written',
      message: `secret ${name} was written`,
      data: { version, by: caller.id },
    });
    await env.store.commit({ guards: [{ key: event.key, at: 0 }], puts: [event], deletes: [] });
  } catch {
    env.log.warn('event of a written secret was not stored', { requestId, tenant, key: name });
  }
}

/** Destroys a credential with all its versions, unless a deployment refers to it. */
export async function deleteSecret(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const path = parsePath(env, call);
  if (path instanceof RequestRejection) return path;
  const conflictKeys = [keys.conflict(call.tenant, toSecretSubject(path.label))];
  return env.mutex.run(conflictKeys, () =>
    retryOnConflict(path.label, () => deleteOnce(env, call, path, conflictKeys)),
  );
}

/** The credential that the path of a call names. */
export function parsePath(env: AdmissionEnv, { params, tenant }: ApiCall): CredentialPath | RequestRejection {
  const { namespace = '', resource = '' } = params;
  const granted = env.staticFacts.secretsPolicy.namespaces;
  if (!granted.includes(namespace)) return rejectRequest('secret_path_namespace', 'namespace', namespace, { granted });
  const path = isSecretLabel(resource) ? parseCredentialPath(tenant, `${namespace}/${resource}`) : undefined;
  return path ?? rejectRequest('secret_path_shape', 'resource', resource, { granted });
}

/** Undefined when a reference may have been stored meanwhile. */
async function deleteOnce(
  env: AdmissionEnv,
  { tenant, requestId, isDryRun }: ApiCall,
  path: CredentialPath,
  conflictKeys: readonly string[],
): Promise<RouteResult | undefined> {
  await env.cache.barrier();
  const guards = guardConflictKeys(env.cache, conflictKeys);
  const { deployments, jobs } = listSecretUserNames(env.cache, tenant, formatVaultPath(path));
  const users = [...deployments, ...jobs.map(name => `job ${name}`)];
  if (users.length > 0) return rejectRequest('secret_in_use', 'resource', path.label, { users });
  const refused = rejectWhileRotating(env.cache, path);
  if (refused) return refused;
  const state = await env.secrets.state(path);
  if (state.kind !== 'found') return rejectRequest('resource_not_found', 'resource', path.label);

  const view = { namespace: path.namespace, resource: path.label, path: formatVaultPath(path) };
  if (isDryRun) return replyDryRun({ before: view });
  const puts = await putConflictKeys(env.conflictLeases, conflictKeys, requestId);
  if (!(await env.store.commit({ guards, puts, deletes: [] })).stored) return undefined;
  await env.secrets.delete(path);
  return replyJson(200, { ...view, alterations: [], warnings: [] });
}
