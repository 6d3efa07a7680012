import { keys } from '../../../crds/keys/index.js';
import { admitNetwork } from '../../../crds/network/index.js';
import { replyDryRun } from '../../admission/dry-run.js';
import { readNodes } from '../../admission/facts.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult, type StorageEnv } from '../../http/route.js';

/** Networks: validated in a dry run; agents do not create them yet. */
export function createNetworkRoutes(env: StorageEnv): readonly Route[] {
  return [defineRoute('deployer', 'POST', '/api/v1/networks', call => createNetwork(env, call))];
}

async function createNetwork(env: StorageEnv, { isDryRun, tenant, document }: ApiCall): Promise<RouteResult> {
  const admission = admitNetwork(document, { nodes: await readNodes(env.cache, tenant) });
  if (!admission.ok) return new RequestRejection(admission.rejections);
  const { spec, alterations } = admission;
  if (env.cache.get(keys.network(tenant, spec.name))) {
    return rejectRequest('resource_already_exists', 'name', spec.name);
  }
  if (!isDryRun) return rejectRequest('feature_not_available', 'path', spec.name, { what: 'a network' });
  return replyDryRun({ after: spec, alterations });
}
