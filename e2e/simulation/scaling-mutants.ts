import { createAutoscaler, decideScaling } from '../../controllers/autoscaler/index.js';
import { altering, inMix, instead } from './mutants.js';

const scaling = (decide: typeof decideScaling) => altering('autoscaler', () => createAutoscaler(decide));

/** Mistakes about scaling that must not go unnoticed. */
export const scalingMutants = inMix('scaling', [
  {
    mistake: 'a step does not wait for the last one to show',
    ...scaling(input => {
      const { scaledAt: _, ...record } = input.record ?? {};
      return decideScaling({ ...input, record: input.record && (record as NonNullable<typeof input.record>) });
    }),
  },
  {
    mistake: 'a policy is exceeded by one',
    ...scaling(input => {
      const { policy } = input;
      return decideScaling({ ...input, policy: { ...policy, maxReplicas: policy.maxReplicas + 1 } });
    }),
  },
  {
    mistake: 'another number of replicas in the spec is not where scaling goes on from',
    ...scaling(input => {
      const { record, deployment } = input;
      return decideScaling({ ...input, record: record && { ...record, base: deployment.replicas } });
    }),
  },
  {
    mistake: 'what containers use is not reported',
    link: link =>
      instead(link, 'heartbeat', beat => {
        const { usage: _, ...rest } = beat;
        return link.heartbeat(rest);
      }),
  },
]);
