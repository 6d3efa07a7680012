import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { findPlaceholders, isSecretLabel, parseSecretPath, parseTemplate } from '../../../crds/grammar/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { listAllSecretUsers, listSecretUsers } from '../../admission/relations.js';
import { listPage } from '../../http/listing.js';
import { readFlag, rejectParameter } from '../../http/query.js';
import { rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { deleteSecret, writeSecret } from './write.js';

const ONE = '/api/v1/secrets/{namespace}/{resource}';
const RESOURCES = '/api/v1/secrets/resources';

/** Secrets: written and deleted, and which deployments refer to them. No route answers a value. */
export function createSecretRoutes(env: AdmissionEnv): readonly Route[] {
  const query = ['limit', 'continue', 'watch'];
  return [
    defineRoute('deployer', 'PUT', ONE, call => writeSecret(env, call)),
    defineRoute('deployer', 'DELETE', ONE, call => deleteSecret(env, call)),
    defineRoute('viewer', 'GET', RESOURCES, call => listReferenced(env, call), { query }),
    defineRoute('viewer', 'GET', `${RESOURCES}/{name}/consumers`, call => listConsumers(env, call)),
  ];
}

/** The items of this list are computed from deployments, so they have no revision of their own. */
const UNSTORED = { revision: 0, created: 0 };

async function listReferenced({ cache }: AdmissionEnv, call: ApiCall): Promise<RouteResult> {
  const isWatch = readFlag(call.query, 'watch');
  if (isWatch instanceof RequestRejection) return isWatch;
  if (isWatch)
    return rejectParameter('watch', 'true', 'a watch of /api/v1/deployments, whose objects carry their references');
  await cache.barrier();
  const { revision } = cache;
  // By label: one label never stands under two namespaces.
  const found = new Map<string, { readonly path: string; readonly users: string[] }>();
  for (const entry of listAllSecretUsers(cache, call.tenant)) {
    const { name, secrets = [] } = value<StoredDeployment>(entry);
    for (const { vault_path: path } of secrets) {
      const label = parseSecretPath(path)?.label ?? path;
      const known = found.get(label) ?? { path, users: [] };
      found.set(label, known);
      if (!known.users.includes(name)) known.users.push(name);
    }
  }
  const entries = [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, { path, users }]) => ({ key, bytes: encode({ name: key, path, deployments: users }), ...UNSTORED }));
  return listPage(call, { entries, revision, prefix: '', view: ({ bytes }) => bytes });
}

async function listConsumers({ cache }: AdmissionEnv, { tenant, params }: ApiCall): Promise<RouteResult> {
  const name = params['name']!;
  await cache.barrier();
  const users = isSecretLabel(name) ? listSecretUsers(cache, tenant, name) : [];
  if (users.length === 0) return rejectRequest('resource_not_found', 'name', name);
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
