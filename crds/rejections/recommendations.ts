import { formatCount } from '../grammar/index.js';
import { defineEntries } from './entry.js';

const apply = (parameters: Readonly<Record<string, unknown>>) => ({ parameters });

/** Section 7.5: recommendations. */
export const recommendationRejections = defineEntries('7.5', {
  dvm_recommendation_apply_invalid_spec: {
    status: 409,
    expected: ({ problem }: { problem: string }) => `a change that leaves the volume valid (${problem})`,
    sample: { problem: 'an ephemeral volume has no replicas' },
    why: 'The volume would not be valid after this change.',
    remedy: 'Change the parameters, or leave the volume as it is.',
    example: apply({ action: 'set_replicas', target_replicas: 2 }),
    fixed: apply({ action: 'resize', target_size_bytes: 21_474_836_480 }),
  },

  dvm_recommendation_bad_parameter: {
    expected: ({ wanted }: { wanted: string }) => wanted,
    sample: { wanted: 'an integer from 1 to 20' },
    why: 'The action cannot be carried out with this value.',
    remedy: 'Correct the parameter; the recommendation itself carries one that fits.',
    example: apply({ action: 'set_replicas', target_replicas: 0 }),
    fixed: apply({ action: 'set_replicas', target_replicas: 2 }),
  },

  dvm_recommendation_insufficient_nodes: {
    status: 409,
    expected: ({ enrolled }: { enrolled: number }) =>
      `at most ${formatCount(Math.max(enrolled - 1, 0), 'replica')}: each copy needs a node of its own (enrolled: ${enrolled})`,
    sample: { enrolled: 3 },
    why: 'Two copies on one machine are lost together.',
    remedy: 'Enrol more nodes, or ask for fewer replicas.',
    example: apply({ action: 'set_replicas', target_replicas: 9 }),
    fixed: apply({ action: 'set_replicas', target_replicas: 2 }),
  },

  dvm_recommendation_not_applicable: {
    status: 409,
    expected: ({ reason }: { reason: string }) => `a recommendation that can be applied (${reason})`,
    sample: { reason: 'the node has to be replaced by a person' },
    why: 'This recommendation is for a person to carry out; the platform cannot do it.',
    remedy: 'Do what it says by hand.',
    example: 'POST /api/v1/dvm/recommendations/rec_…/apply with applicable: false',
    fixed: 'POST /api/v1/dvm/recommendations/rec_…/apply with applicable: true',
  },

  dvm_recommendation_not_found: {
    status: 404,
    expected: 'the id of a recommendation that holds now',
    why: 'Recommendations are computed from the present state, and vanish when their condition does.',
    remedy: 'Read the list again.',
    example: 'POST /api/v1/dvm/recommendations/rec_old/apply',
    fixed: 'GET /api/v1/dvm/recommendations',
  },

  dvm_recommendation_stale_measurement: {
    status: 409,
    expected: ({ used }: { used: number }) => `at least ${used} bytes, which the volume holds now`,
    sample: { used: 12_884_901_888 },
    why: 'The volume has grown since it was measured, and its data would not fit.',
    remedy: 'Read the recommendation again, and apply what it says now.',
    example: apply({ action: 'resize', target_size_bytes: 1024 }),
    fixed: apply({ action: 'resize', target_size_bytes: 21_474_836_480 }),
  },

  dvm_recommendation_tenant_required: {
    status: 400,
    expected: 'X-Tenant-ID with the UUID of one tenant',
    why: 'Recommendations are computed for one tenant, and the request has to say for which.',
    remedy: 'Add the header X-Tenant-ID.',
    example: 'GET /api/v1/dvm/recommendations',
    fixed: 'GET /api/v1/dvm/recommendations with X-Tenant-ID: 0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10',
  },

  dvm_recommendation_unknown_action: {
    expected: ({ known }: { known: readonly string[] }) => `one of ${known.join(', ')}`,
    sample: { known: ['set_replicas', 'resize'] },
    why: 'The action is unknown, so it cannot be carried out.',
    remedy: 'Use the action that the recommendation carries.',
    example: apply({ action: 'defragment' }),
    fixed: apply({ action: 'set_replicas', target_replicas: 2 }),
  },

  dvm_recommendation_unknown_priority: {
    status: 400,
    expected: ({ known }: { known: readonly string[] }) => `one of ${known.join(', ')}`,
    sample: { known: ['critical', 'high', 'medium', 'low'] },
    why: 'No recommendation can have this value, so the list would be empty for the wrong reason.',
    remedy: 'Correct or remove the parameter.',
    example: 'GET /api/v1/dvm/recommendations?priority=urgent',
    fixed: 'GET /api/v1/dvm/recommendations?priority=critical',
  },

  dvm_recommendation_unknown_type: {
    status: 400,
    expected: ({ known }: { known: readonly string[] }) => `one of ${known.join(', ')}`,
    sample: { known: ['replication', 'capacity', 'placement'] },
    why: 'No recommendation can have this value, so the list would be empty for the wrong reason.',
    remedy: 'Correct or remove the parameter.',
    example: 'GET /api/v1/dvm/recommendations?type=size',
    fixed: 'GET /api/v1/dvm/recommendations?type=capacity',
  },

  dvm_recommendation_volume_missing: {
    status: 409,
    expected: 'a recommendation whose volume still exists',
    why: 'The volume was deleted or moved since the recommendation was computed.',
    remedy: 'Read the list again.',
    example: 'POST /api/v1/dvm/recommendations/rec_…/apply after its volume was deleted',
    fixed: 'GET /api/v1/dvm/recommendations',
  },
});
