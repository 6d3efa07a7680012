import { admitNetwork } from '../../../crds/network/index.js';
import { keys } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { knownNodes } from '../../admission/facts.js';
import type { Call } from '../../http/call.js';
import type { ApiEnv } from '../../env.js';
import { flagIn, WRITE_QUERY } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import type { Outcome, Route } from '../../http/route.js';
import { trialReply } from '../../admission/dry-run.js';

/** Networks: judged in full; carried out once agents make them. */
export function networkRoutes(env: ApiEnv): readonly Route[] {
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

async function createNetwork(env: ApiEnv, { query, tenant, document }: Call): Promise<Outcome> {
  const isTrial = flagIn(query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const admission = admitNetwork(document, { nodes: await knownNodes(env.cache, tenant) });
  if (!admission.ok) return new Refused(admission.rejections);
  const { spec, alterations } = admission;
  if (env.cache.get(keys.network(tenant, spec.name))) {
    return new Refused(reject('resource_already_exists', 'name', spec.name));
  }
  if (!isTrial) return new Refused(reject('feature_not_available', '', spec.name, { what: 'a network' }));
  return trialReply({ after: spec, alterations });
}
