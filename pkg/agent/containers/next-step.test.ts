import { expect } from 'chai';

import type { ContainerStatus } from '../engine/index.js';
import type { DesiredState } from '../assignments.js';
import { decideNextStep, type NextStepInput, type ReplicaStep } from './next-step.js';

const container = (state: ContainerStatus['state']): ContainerStatus => ({
  id: 'c1',
  name: 'web',
  owner: {
    nodeId: 'node_1',
    tenant: 't1',
    deployment: 'web',
    deploymentUid: 'dep_1',
    replica: 'r1',
    slot: 0,
    generation: 1,
    templateHash: 'h',
  },
  state,
  health: 'none',
  exitCode: state === 'exited' ? 1 : undefined,
});

const absent: NextStepInput = { wanted: 'run', container: undefined, imageMissing: false, backoffMs: 0 };

describe('the next step of a replica', () => {
  const cases: ReadonlyArray<{ name: string; given: Partial<NextStepInput>; step: ReplicaStep }> = [
    { name: 'creates at once, trusting that the image is there', given: {}, step: { kind: 'create' } },
    { name: 'pulls an image that is not', given: { imageMissing: true }, step: { kind: 'pull' } },
    { name: 'starts what was created', given: { container: container('created') }, step: { kind: 'start' } },
    { name: 'is content with what runs', given: { container: container('running') }, step: { kind: 'settled' } },
    { name: 'restarts what ended', given: { container: container('exited') }, step: { kind: 'restart' } },
    {
      name: 'lets what ends again and again rest first',
      given: { container: container('exited'), backoffMs: 4000 },
      step: { kind: 'backoff', ms: 4000 },
    },
    {
      name: 'replaces what has written too much, whether it runs or has ended',
      given: { container: container('running'), isOverDisk: true },
      step: { kind: 'discard' },
    },
    {
      name: 'does not let a disk that is too full wait for a back-off',
      given: { container: container('exited'), isOverDisk: true, backoffMs: 4000 },
      step: { kind: 'discard' },
    },
    {
      name: 'stops what retires',
      given: { wanted: 'retire', container: container('running') },
      step: { kind: 'stop' },
    },
    {
      name: 'removes what has stopped',
      given: { wanted: 'retire', container: container('exited') },
      step: { kind: 'remove' },
    },
    {
      name: 'removes what never started',
      given: { wanted: 'retire', container: container('created') },
      step: { kind: 'remove' },
    },
    { name: 'says that a retired one is gone', given: { wanted: 'retire' }, step: { kind: 'gone' } },
    {
      name: 'stops an orphan',
      given: { wanted: 'nothing', container: container('running') },
      step: { kind: 'stop' },
    },
    { name: 'refuses an outdated assignment', given: { wanted: 'outdated' }, step: { kind: 'refuse' } },
  ];

  for (const { name, given, step } of cases) {
    it(name, () => expect(decideNextStep({ ...absent, ...given })).to.deep.equal(step));
  }

  for (const state of ['created', 'running', 'exited'] as const) {
    for (const wanted of ['unknown', 'outdated'] as const satisfies readonly DesiredState[]) {
      it(`leaves a ${state} container alone while its desired state is ${wanted}`, () => {
        const { kind } = decideNextStep({ ...absent, wanted, container: container(state) });

        expect(kind).to.be.oneOf(['leave', 'refuse']);
      });
    }
  }
});
