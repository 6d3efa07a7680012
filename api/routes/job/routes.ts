import type { Deployment } from '../../../crds/deployment/index.js';
import { admitJob, type Job } from '../../../crds/job/index.js';
import { dryRunSecrets, previewWorkload, replyDryRun } from '../../admission/dry-run.js';
import type { AdmissionEnv } from '../../admission/env.js';
import { gatherFacts } from '../../admission/facts.js';
import { readSubmitted } from '../../admission/submitted.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';

/** Jobs: validated in a dry run; there is no loop yet that runs them. */
export function createJobRoutes(env: AdmissionEnv): readonly Route[] {
  return [defineRoute('deployer', 'POST', '/api/v1/jobs', call => createJob(env, call))];
}

async function createJob(env: AdmissionEnv, { isDryRun, tenant, document }: ApiCall): Promise<RouteResult> {
  const { facts } = await gatherFacts(env, tenant, readSubmitted(document));
  const admission = admitJob(document, facts, env.dryRunLimits);
  if (!admission.ok) return new RequestRejection(admission.rejections);
  const { spec, alterations, warnings, material } = admission;
  if (!isDryRun) return rejectRequest('feature_not_available', 'kind', spec.name, { what: 'a job' });

  await env.cache.barrier();
  const secrets = dryRunSecrets(spec, material, facts.secretKeys);
  const placement = previewWorkload(env, tenant, asDeployment(spec), 0);
  return replyDryRun({ after: spec, alterations, warnings, more: { recreated: [], secrets, placement } });
}

/** A job asks of a node what a deployment with one replica asks. */
function asDeployment({ name, image, nodeId, networks, resources, placement }: Job): Deployment {
  return {
    kind: 'Deployment',
    name,
    image,
    replicas: 1,
    secretsVersion: 0,
    ...(nodeId !== undefined && { nodeId }),
    ...(networks && { networks }),
    ...(resources && { resources }),
    ...(placement && { placement }),
  };
}
