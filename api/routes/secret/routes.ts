import type { StoredDeployment } from '../../../crds/deployment/index.js';
import type { StoredJob } from '../../../crds/job/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import { findPlaceholders, isSecretLabel, parseSecretPath, parseTemplate } from '../../../crds/grammar/index.js';
import { formatVaultPath, readKeyNames, toSecretState, type Versions } from '../../../pkg/secrets/index.js';
import { type Cache, encode, Entry, value } from '../../../pkg/store/index.js';
import { rejectNamespace } from '../../write/material.js';
import { write } from '../../write/write.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { listAllSecretUsers, listSecretJobs, listSecretUserNames, listSecretUsers } from '../../admission/relations.js';
import { LIST_QUERY, listPage, PAGE_QUERY } from '../../http/listing.js';
import { readFlag, rejectMisplaced } from '../../http/query.js';
import { buildEtagHeader, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import type { ReaderOptions } from '../kind-routes.js';
import { findOpenRotation } from '../rotation/view.js';
import { listReferences, type ReferenceWatchEnv, watchReferences } from './watch-references.js';
import { parsePath, secretRemoval, secretWriting } from './write.js';

const ONE = '/api/v1/secrets/{namespace}/{resource}';
const RESOURCES = '/api/v1/secrets/resources';

/** What secrets are served with. */
type SecretEnv = AdmissionEnv & ReferenceWatchEnv;

/** Secrets: written and deleted, and which deployments refer to them. No route answers a value. */
export function createSecretRoutes(env: SecretEnv): readonly Route[] {
  const query = LIST_QUERY;
  return [
    defineRoute('viewer', 'GET', ONE, call => showSecret(env, call)),
    defineRoute('deployer', 'PUT', ONE, call => write(env, call, secretWriting)),
    defineRoute('deployer', 'DELETE', ONE, call => write(env, call, secretRemoval)),
    defineRoute('viewer', 'GET', RESOURCES, call => listReferenced(env, call), { query }),
    defineRoute('viewer', 'GET', `${RESOURCES}/{name}/consumers`, call => listConsumers(env, call)),
  ];
}

/** Credentials are listed by path: those that the platform's own store holds, and those that deployments refer to. */
export function createSecretReader({ cache }: { readonly cache: Cache }): ReaderOptions {
  return {
    readSource: ({ tenant }) => ({
      entries: listSecrets(cache, tenant),
      revision: cache.revision,
      prefix: '',
      view: ({ bytes }) => bytes,
    }),
  };
}

/** They are computed, so they have no revision of their own. */
function listSecrets(cache: Cache, tenant: string): readonly Entry[] {
  const prefix = ranges.of(ranges.secrets, tenant);
  const stored = new Map(cache.list(prefix).map(entry => [entry.key.slice(prefix.length), entry]));
  const users = new Map<string, { readonly deployments: string[]; readonly jobs: string[] }>();
  for (const entry of listAllSecretUsers(cache, tenant)) {
    const { name, secrets = [] } = value<StoredDeployment | StoredJob>(entry);
    for (const path of new Set(secrets.map(({ vault_path }) => vault_path))) {
      const known = users.get(path) ?? { deployments: [], jobs: [] };
      users.set(path, known);
      (entry.key.startsWith(ranges.jobs) ? known.jobs : known.deployments).push(name);
    }
  }
  return [...new Set([...stored.keys(), ...users.keys()])].sort().map(path => {
    const [namespace, resource] = path.split('/');
    const head = stored.get(path);
    const version = (head && findCurrentVersion(head)) ?? null;
    const { deployments = [], jobs = [] } = users.get(path) ?? {};
    const rotation = findOpenRotation(cache, tenant, path);
    const view = {
      namespace,
      resource,
      path,
      version,
      deployments,
      ...(jobs.length > 0 && { jobs }),
      ...(rotation && { rotation }),
    };
    return new Entry(path, encode(view));
  });
}

/** The version that containers get; one that a rotation has staged is not. Undefined of a record that cannot be read. */
function findCurrentVersion(head: Entry): number | undefined {
  const { last = 0, live, pin } = value<Partial<Versions> | null>(head) ?? {};
  if (!Array.isArray(live)) return undefined;
  return toSecretState({ last, live, ...(pin !== undefined && { pin }) }).current;
}

/** The values are read, to prove that they can be, and dropped. */
async function showSecret(env: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const path = parsePath(env, call);
  if (path instanceof RequestRejection) return path;
  await env.cache.barrier();
  if (!env.cache.get(keys.tenant(call.tenant))) return rejectRequest('resource_not_found', 'X-Tenant-ID', call.tenant);
  const reading = await readKeyNames(env.secrets, path);
  if (reading.kind === 'forbidden') return rejectNamespace(env, path);
  if (reading.kind === 'missing') return rejectRequest('resource_not_found', 'resource', path.label);
  const name = formatVaultPath(path);
  const { keys: names, version } = reading;
  const { deployments, jobs } = listSecretUserNames(env.cache, call.tenant, name);
  const { namespace, label } = path;
  const shown = { namespace, resource: label, path: name, keys: names, version, deployments, jobs };
  return replyJson(200, shown, buildEtagHeader(version));
}

async function listReferenced(env: SecretEnv, call: ApiCall): Promise<RouteResult> {
  const isWatch = readFlag(call.query, 'watch');
  if (isWatch instanceof RequestRejection) return isWatch;
  const misplaced = rejectMisplaced(call.query, isWatch ? PAGE_QUERY : ['after'], isWatch);
  if (misplaced) return misplaced;
  if (isWatch) return watchReferences(env, call);
  await env.cache.barrier();
  const { revision } = env.cache;
  const references = listReferences(listAllSecretUsers(env.cache, call.tenant));
  const entries = [...references].map(([key, bytes]) => new Entry(key, bytes));
  const { epoch } = env.watchHub.history;
  return listPage(call, { entries, revision, epoch, prefix: '', view: ({ bytes }) => bytes });
}

async function listConsumers({ cache }: AdmissionEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  const name = params['name']!;
  await cache.barrier();
  const lists = isSecretLabel(name) ? [listSecretUsers, listSecretJobs] : [];
  const users = lists.flatMap(list => list(cache, tenant, name));
  if (users.length === 0) return rejectRequest('resource_not_found', 'name', name);
  const consumers = users.map(entry => toConsumer(entry, name));
  return replyJson(200, { name, path: consumers[0]?.path, consumers, revision: String(cache.revision) });
}

/** How a deployment or a job uses a credential: under which name, and which of its keys its templates put in. */
function toConsumer(entry: Entry, label: string) {
  const { name, metadata, secrets = [], composedSecrets = {} } = value<StoredDeployment | StoredJob>(entry);
  const kind = entry.key.startsWith(ranges.jobs) ? 'Job' : 'Deployment'; // a damaged record may say anything
  const own = secrets.filter(({ vault_path: path }) => parseSecretPath(path)?.label === label);
  const templates = Object.entries(composedSecrets).flatMap(([variable, template]) => {
    const used = findPlaceholders(parseTemplate(template) ?? []).filter(({ resource }) => resource === label);
    return used.length === 0 ? [] : [{ variable, keys: [...new Set(used.map(({ key }) => key))] }];
  });
  return {
    kind,
    [kind.toLowerCase()]: name,
    id: metadata.uid,
    path: own[0]?.vault_path,
    entries: own.map(({ name: prefix, anchor }) => ({ name: prefix, anchor })),
    templates,
  };
}
