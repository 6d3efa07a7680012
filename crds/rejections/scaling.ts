import { defineEntries } from './entry.js';

const policy = { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 60 };

/** Scaling policies. */
export const scalingRejections = defineEntries('ours', {
  scaling_range_invalid: {
    expected: ({ max }: { max: number }) => `at most maxReplicas, which is ${max}`,
    sample: { max: 4 },
    why: 'No number of replicas is at least minReplicas and at most maxReplicas.',
    remedy: 'Lower minReplicas, or raise maxReplicas.',
    example: { ...policy, minReplicas: 5 },
    fixed: policy,
  },

  scaling_target_required: {
    expected: 'targetCpuPercent, targetMemoryPercent, or both',
    why: 'Without a target nothing says when there are too few replicas, or too many.',
    remedy: 'Set targetCpuPercent: 60 keeps the replicas at 60 percent of the cpu that they request.',
    example: { minReplicas: 1, maxReplicas: 4 },
    fixed: policy,
  },

  scaling_request_missing: {
    expected: ({ deployment, resource }: { deployment: string; resource: string }) =>
      `a target for a resource that deployment ${deployment} requests; set its resources.${resource} first`,
    sample: { deployment: 'web', resource: 'cpu' },
    why: 'A target is a percentage of what a replica requests, and this deployment requests nothing of it.',
    remedy: 'Set resources.cpu or resources.memory of the deployment, then send the policy again.',
    example: 'PUT /api/v1/deployments/web/scaling with targetCpuPercent, while web has no resources.cpu',
    fixed: 'PUT /api/v1/deployments/web/scaling with targetCpuPercent, while web has resources.cpu: 250m',
  },

  scaling_policy_not_found: {
    status: 404,
    expected: 'the name of a deployment with a scaling policy',
    why: 'The deployment exists, and its number of replicas is the one in its spec.',
    remedy: 'Create a policy with PUT.',
    example: 'GET /api/v1/deployments/web/scaling, while web has no policy',
    fixed: 'PUT /api/v1/deployments/web/scaling',
  },
});
