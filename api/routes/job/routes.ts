import type { Deployment } from '../../../crds/deployment/index.js';
import { admitJob, type Job } from '../../../crds/job/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { readSubmitted } from '../../admission/submitted.js';
import { previewWorkload, dryRunSecrets } from '../../admission/deployment-dry-run.js';
import { replyDryRun } from '../../admission/dry-run.js';
import { gatherFacts } from '../../admission/facts.js';
import type { AdmissionEnv } from '../../admission/env.js';
import type { ApiCall } from '../../http/call.js';
import { readFlag, WRITE_QUERY } from '../../http/query.js';
import { RequestRejection } from '../../http/rejection.js';
import type { RouteResult, Route } from '../../http/route.js';

/** Jobs: validated in a dry run; there is no loop yet that runs them. */
export function jobRoutes(env: AdmissionEnv): readonly Route[] {
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

async function createJob(env: AdmissionEnv, { query, tenant, document }: ApiCall): Promise<RouteResult> {
  const isDryRun = readFlag(query, 'dryRun');
  if (isDryRun instanceof RequestRejection) return isDryRun;
  const { facts } = await gatherFacts(env, tenant, readSubmitted(document));
  const admission = admitJob(document, facts, env.dryRunLimits);
  if (!admission.ok) return new RequestRejection(admission.rejections);
  const { spec, alterations, warnings, material } = admission;
  if (!isDryRun) return new RequestRejection(reject('feature_not_available', '', spec.name, { what: 'a job' }));

  await env.cache.barrier();
  const secrets = dryRunSecrets(spec, material, facts.secretKeys);
  const placement = previewWorkload(env, tenant, asDeployment(spec), 0);
  return replyDryRun({ after: spec, alterations, warnings, more: { recreated: [], secrets, placement } });
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
