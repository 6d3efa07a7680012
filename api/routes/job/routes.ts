import type { Deployment } from '../../../crds/deployment/index.js';
import { admitJob, type Job } from '../../../crds/job/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { askedBy } from '../../admission/asked.js';
import { placementOf, trySecrets } from '../../admission/deployment-dry-run.js';
import { trialReply } from '../../admission/dry-run.js';
import { gatherFacts } from '../../admission/facts.js';
import type { ApiEnv } from '../../env.js';
import type { Call } from '../../http/call.js';
import { flagIn, WRITE_QUERY } from '../../http/query.js';
import { Refused } from '../../http/rejection.js';
import type { Outcome, Route } from '../../http/route.js';

/** Jobs: judged in full; carried out once there is a loop that runs them. */
export function jobRoutes(env: ApiEnv): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/jobs',
      access: { tenant: 'deployer', admin: true },
      tenant: 'own',
      query: WRITE_QUERY,
      body: 'json',
      handle: call => createJob(env, call),
    },
  ];
}

async function createJob(env: ApiEnv, { query, tenant, document }: Call): Promise<Outcome> {
  const isTrial = flagIn(query, 'dryRun');
  if (isTrial instanceof Refused) return isTrial;
  const { facts } = await gatherFacts(env, tenant, askedBy(document));
  const admission = admitJob(document, facts, env.dryRunLimits);
  if (!admission.ok) return new Refused(admission.rejections);
  const { spec, alterations, warnings, material } = admission;
  if (!isTrial) return new Refused(reject('feature_not_available', '', spec.name, { what: 'a job' }));

  await env.cache.barrier();
  const secrets = trySecrets(spec, material, facts.secretKeys);
  const placement = placementOf(env, tenant, asDeployment(spec), 0);
  return trialReply({ after: spec, alterations, warnings, more: { recreated: [], secrets, placement } });
}

/** A job asks of a node what a deployment with one replica asks. */
function asDeployment({ name, image, nodeId, resources, placement }: Job): Deployment {
  return {
    kind: 'Deployment',
    name,
    image,
    replicas: 1,
    secretsVersion: 0,
    ...(nodeId !== undefined && { nodeId }),
    ...(resources && { resources }),
    ...(placement && { placement }),
  };
}
