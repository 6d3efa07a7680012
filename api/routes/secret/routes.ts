import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { isSecretLabel, parseSecretPath, parseTemplate, findPlaceholders } from '../../../crds/grammar/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import { listSecretUsers, listAllSecretUsers } from '../../admission/relations.js';
import type { ApiCall } from '../../http/call.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { listPage } from '../../http/listing.js';
import { readFlag, WRITE_QUERY, rejectParameter } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import { replyJson } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { deleteSecret } from './delete.js';
import { writeSecret } from './write.js';

const read = { tenant: 'viewer', admin: true } as const;
const write = { tenant: 'deployer', admin: true } as const;
const ONE = '/api/v1/secrets/{namespace}/{resource}';
const RESOURCES = '/api/v1/secrets/resources';

/** Secrets: written and deleted, and who refers to them. Nobody can read a value here. */
export function secretRoutes(env: AdmissionEnv): readonly Route[] {
  const common = { tenant: 'own', body: 'none', query: [] } as const;
  return [
    {
      ...common,
      method: 'PUT',
      path: ONE,
      access: write,
      query: WRITE_QUERY,
      body: 'json',
      handle: call => writeSecret(env, call),
    },
    {
      ...common,
      method: 'DELETE',
      path: ONE,
      access: write,
      query: WRITE_QUERY,
      handle: call => deleteSecret(env, call),
    },
    {
      ...common,
      method: 'GET',
      path: RESOURCES,
      access: read,
      query: ['limit', 'continue', 'watch'],
      handle: call => listReferenced(env, call),
    },
    {
      ...common,
      method: 'GET',
      path: `${RESOURCES}/{name}/consumers`,
      access: read,
      handle: call => listConsumers(env, call),
    },
  ];
}

/** A credential that is referred to, by label: one label never stands under two namespaces. */
interface Referenced {
  readonly path: string;
  readonly users: string[];
}

async function listReferenced({ cache }: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const isWatch = readFlag(call.query, 'watch');
  if (isWatch instanceof RequestRejection) return isWatch;
  if (isWatch)
    return rejectParameter('watch', 'true', 'a watch of /api/v1/deployments, whose objects carry their references');
  await cache.barrier();
  const { revision } = cache;
  const found = new Map<string, Referenced>();
  for (const entry of listAllSecretUsers(cache, call.tenant)) {
    const { name, secrets = [] } = value<StoredDeployment>(entry);
    for (const { vault_path: path } of secrets) {
      const label = parseSecretPath(path)?.label ?? path;
      const known = found.get(label) ?? { path, users: [] };
      found.set(label, known);
      if (!known.users.includes(name)) known.users.push(name);
    }
  }
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  return listPage(call, {
    entries: sorted.map(([label, { path, users }]) => toEntry(label, { name: label, path, deployments: users })),
    revision,
    prefix: '',
    view: ({ bytes }) => bytes,
  });
}

function toEntry(key: string, item: unknown): Entry {
  return { key, bytes: encode(item), revision: 0, created: 0 };
}

async function listConsumers({ cache }: AdmissionEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  const name = params['name']!;
  await cache.barrier();
  const users = isSecretLabel(name) ? listSecretUsers(cache, tenant, name) : [];
  if (users.length === 0) return new RequestRejection(reject('resource_not_found', 'name', name));
  const consumers = users.map(entry => toConsumer(value<StoredDeployment>(entry), name));
  return replyJson(200, { name, path: consumers[0]?.path, consumers, revision: String(cache.revision) });
}

/** How a deployment uses a credential: under which name, and which of its keys its templates put in. */
function toConsumer({ name, metadata, secrets = [], composedSecrets = {} }: StoredDeployment, label: string) {
  const own = secrets.filter(({ vault_path: path }) => parseSecretPath(path)?.label === label);
  const templates = Object.entries(composedSecrets).flatMap(([variable, template]) => {
    const used = findPlaceholders(parseTemplate(template) ?? []).filter(({ resource }) => resource === label);
    return used.length === 0 ? [] : [{ variable, keys: [...new Set(used.map(({ key }) => key))] }];
  });
  return {
    kind: 'Deployment',
    deployment: name,
    id: metadata.uid,
    path: own[0]?.vault_path,
    entries: own.map(({ name: prefix, anchor }) => ({ name: prefix, anchor })),
    templates,
  };
}
