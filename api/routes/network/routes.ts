import { admitNetwork } from '../../../crds/network/index.js';
import { keys } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { readNodes } from '../../admission/facts.js';
import type { ApiCall } from '../../http/call.js';
import type { StorageEnv } from '../../http/call.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import type { RouteResult, Route } from '../../http/route.js';
import { replyDryRun } from '../../admission/dry-run.js';

/** Networks: validated in a dry run; agents do not create them yet. */
export function networkRoutes(env: StorageEnv): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/networks',
      access: { tenant: 'deployer', admin: true },
      tenant: 'own',
      query: WRITE_QUERY,
      body: 'json',
      handle: call => createNetwork(env, call),
    },
  ];
}

async function createNetwork(env: StorageEnv, { query, tenant, document }: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const admission = admitNetwork(document, { nodes: await readNodes(env.cache, tenant) });
  if (!admission.ok) return new RequestRejection(admission.rejections);
  const { spec, alterations } = admission;
  if (env.cache.get(keys.network(tenant, spec.name))) {
    return new RequestRejection(reject('resource_already_exists', 'name', spec.name));
  }
  if (!isDryRun) return new RequestRejection(reject('feature_not_available', '', spec.name, { what: 'a network' }));
  return replyDryRun({ after: spec, alterations });
}
