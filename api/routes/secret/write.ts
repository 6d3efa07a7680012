import type { StoredDeployment } from '../../../crds/deployment/index.js';
import type { StoredJob } from '../../../crds/job/index.js';
import { findPlaceholders, isSecretLabel, parseAnchor, parseTemplate } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import { type Alteration, recordAlterations, type Warning } from '../../../crds/rule/index.js';
import { checkSecretWrite } from '../../../crds/secret/index.js';
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
import { type Cache, Entry, value } from '../../../pkg/store/index.js';
import { toSecretSubject } from '../../admission/conflict-keys.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { readQuotas } from '../../admission/quota.js';
import { listAnchors, listSecretJobs, listSecretUserNames, listSecretUsers } from '../../admission/relations.js';
import { rejectWhileRotating } from '../../admission/rotations.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import type { ApiCall } from '../../http/route.js';
import { checkIfMatch } from '../../write/if-match.js';
import { rejectNamespace } from '../../write/material.js';
import type { Writing } from '../../write/write.js';

/** The next version of a credential, as it is to be written. */
interface NextVersion {
  readonly path: CredentialPath;
  /** The number of the last version; 0 where there is none. */
  readonly last: number;
  /** The version that clients see. */
  readonly current: number | undefined;
  /** What it is now, for a dry run. */
  readonly before: object | undefined;
  readonly document: SecretDocument;
  readonly alterations: readonly Alteration[];
}

/**
 * Writes the next version of a credential, which replaces the one before. Answers names and numbers, never a value. The secrets store
 * may be another one than etcd, so the version and its event are two steps: the event is left out when it cannot be stored.
 */
export const secretWriting: Writing<AdmissionEnv, NextVersion, undefined> = {
  name: 'secret',
  conflictKeys: (_env, { tenant, params }) =>
    isSecretLabel(params['resource']!) ? [keys.conflict(tenant, toSecretSubject(params['resource']!))] : [],
  facts: readNextVersion,
  judge: ({ call: { request, tenant }, facts: { path, last, current } }, env) => {
    const seen = current === undefined ? undefined : { revision: current };
    const refused = checkIfMatch(request.headers['if-match'], undefined, seen) ?? rejectWhileRotating(env.cache, path);
    if (refused || last > 0) return refused;
    const { secrets: limit } = readQuotas(env, tenant);
    // Only those in the platform's own store are counted.
    if (limit === undefined || env.usage.of(tenant).secrets < limit) return undefined;
    return rejectRequest('quota_reached', 'resource', path.label, { kind: 'secrets', limit });
  },
  plan: ({ facts: { path, last, before, document, alterations } }, _ruling, env) => ({
    puts: [],
    before,
    after: toSecretView(path, document, last + 1),
    alterations,
    warnings: warnMissingKeys(env.cache, path, document),
    shown: new Entry(formatVaultPath(path), NO_BYTES, last + 1),
    ...(last === 0 && { location: `/api/v1/secrets/${formatVaultPath(path)}` }),
  }),
  commit: async (env, { call, facts: { path, last, document } }) => {
    // Where secrets are in etcd too: a tenant that is deleted meanwhile gets no secret.
    const guards = [{ key: keys.tenant(call.tenant), exists: true }] as const;
    const written = await env.secrets
      .write(path, { document, after: last, as: 'current', guards })
      .catch((thrown: unknown) => {
        if (thrown instanceof SecretPreconditionFault) return { kind: 'conflict' } as const;
        throw thrown;
      });
    if (written.kind === 'forbidden') return rejectNamespace(env, path);
    if (written.kind === 'conflict') return { stored: false };
    await recordEvent(env, call, path, written.version);
    return { stored: true, revision: env.cache.revision };
  },
  show: (_env, _written, { facts: { path, last, document } }) => toSecretView(path, document, last + 1),
};

const NO_BYTES = Buffer.alloc(0);

/** The document to write. Material that a volume was set up with is kept: only a rotation generates it again. */
async function readNextVersion(env: AdmissionEnv, call: ApiCall): Promise<NextVersion | RequestRejection> {
  const { params, tenant } = call;
  const submitted = { namespace: params['namespace']!, resource: params['resource']!, document: call.document };
  const { namespaces } = env.staticFacts.secretsPolicy;
  const checked = checkSecretWrite(submitted, namespaces, env.deploymentLimits.secrets);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { namespace, label, values, generation } = checked.value;
  const path = toCredentialPath(tenant, `${namespace}/${label}`);
  const anchors = listAnchors(env.cache, tenant, formatVaultPath(path));
  if (generation && anchors.includes('external')) {
    return rejectRequest('secret_external_not_writable', 'generate', generation.keys);
  }
  const state = await env.secrets.state(path);
  if (state.kind === 'forbidden') return rejectNamespace(env, path);
  const { last, current } = state.kind === 'found' ? state.state : { last: 0, current: undefined };
  // Read after the version number: when another version is written in between, the write conflicts.
  const isKept = generation !== undefined && anchors.some(anchor => parseAnchor(anchor)?.to === 'volume');
  const reading = isKept || call.isDryRun ? await env.secrets.read(path) : undefined;
  if (reading?.kind === 'forbidden') return rejectNamespace(env, path);
  const stored = reading?.kind === 'found' ? reading : undefined;
  const before = stored && toSecretView(path, stored.document, stored.version);
  const given = toSecretDocument(values);
  if (!generation) return { path, last, current, before, document: given, alterations: [] };

  const present: SecretDocument = (isKept && stored?.document) || new Map();
  const kept = [...present].filter(([key]) => generation.keys.includes(key));
  const due = { ...generation, keys: generation.keys.filter(key => !present.has(key)) };
  const { alterations, announce: note } = recordAlterations();
  if (kept.length > 0) note('generate.keys', generation.keys, due.keys, GENERATE_KEPT);
  const document = new Map([...given, ...kept, ...generateDocument(due, env.random)]);
  return { path, last, current, before, document, alterations };
}

/** Warns of the keys that templates of deployments use and that the new version does not hold. */
function warnMissingKeys(cache: Cache, path: CredentialPath, document: SecretDocument): readonly Warning[] {
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
function toSecretView(path: CredentialPath, document: SecretDocument, version: number) {
  return { ...toSecretName(path), keys: [...document.keys()].sort(), version };
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
    await env.committer.announce({
      type: 'secret.written',
      tenant,
      subject: { kind: 'Secret', name, id: name },
      reason: 'written',
      message: `secret ${name} was written`,
      data: { version, by: caller.id },
    });
  } catch {
    env.log.warn('event of a written secret was not stored', { requestId, tenant, key: name });
  }
}

/** A credential as it is before it is destroyed. */
interface DoomedSecret {
  readonly path: CredentialPath;
  /** The version that clients see. */
  readonly version: number;
}

/** Destroys a credential with all its versions, unless a deployment refers to it: first its conflict key is stored, then it is done. */
export const secretRemoval: Writing<AdmissionEnv, DoomedSecret, undefined> = {
  name: 'secret',
  conflictKeys: secretWriting.conflictKeys!,
  facts: async (env, call) => {
    const path = parsePath(env, call);
    if (path instanceof RequestRejection) return path;
    const refused = rejectInUse(env.cache, path) ?? rejectWhileRotating(env.cache, path);
    if (refused) return refused;
    const state = await env.secrets.state(path);
    if (state.kind !== 'found') return rejectRequest('resource_not_found', 'resource', path.label);
    const { current, last } = state.state;
    return { path, version: current ?? last };
  },
  judge: ({ call: { request }, facts: { path, version } }, { cache }) =>
    checkIfMatch(request.headers['if-match'], undefined, { revision: version }) ?? rejectInUse(cache, path),
  plan: ({ facts: { path, version } }) => ({
    puts: [],
    before: toSecretName(path),
    shown: new Entry(formatVaultPath(path), NO_BYTES, version),
  }),
  afterwards: async (env, { facts: { path } }) => {
    await env.secrets.delete(path);
    return [];
  },
  show: (_env, _written, { facts: { path } }) => toSecretName(path),
};

function rejectInUse(cache: Cache, path: CredentialPath): RequestRejection | undefined {
  const { deployments, jobs } = listSecretUserNames(cache, path.tenant, formatVaultPath(path));
  const users = [...deployments, ...jobs.map(name => `job ${name}`)];
  return users.length > 0 ? rejectRequest('secret_in_use', 'resource', path.label, { users }) : undefined;
}

function toSecretName({ namespace, label }: CredentialPath) {
  return { namespace, resource: label, path: `${namespace}/${label}` };
}

/** The credential that the path of a call names. */
export function parsePath(env: AdmissionEnv, { params, tenant }: ApiCall): CredentialPath | RequestRejection {
  const { namespace = '', resource = '' } = params;
  const granted = env.staticFacts.secretsPolicy.namespaces;
  if (!granted.includes(namespace)) return rejectRequest('secret_path_namespace', 'namespace', namespace, { granted });
  const path = isSecretLabel(resource) ? parseCredentialPath(tenant, `${namespace}/${resource}`) : undefined;
  return path ?? rejectRequest('secret_path_shape', 'resource', resource, { granted });
}
