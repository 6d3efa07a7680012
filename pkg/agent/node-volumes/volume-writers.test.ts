import { expect } from 'chai';

import type { ContainerStatus } from '../engine/index.js';
import { findWriter, VolumeBusyFault, VolumeWriters } from './volume-writers.js';

describe('the writers of a volume on one node', () => {
  const container = (
    replica: string,
    state: ContainerStatus['state'],
    writes?: readonly string[],
  ): ContainerStatus => ({
    id: `container of ${replica}`,
    name: replica,
    owner: {
      nodeId: 'n',
      tenant: 't',
      deployment: 'd',
      deploymentUid: 'u',
      replica,
      slot: 0,
      generation: 1,
      templateHash: 'h',
      ...(writes && { writes }),
    },
    state,
    health: 'none',
    exitCode: undefined,
  });
  /** The engine knows better than what was last seen. */
  const open = (running: readonly string[] = []) =>
    new VolumeWriters({
      inspect: async id =>
        container('x', running.some(replica => id === `container of ${replica}`) ? 'running' : 'exited'),
    });
  const isBusy = (claim: Promise<void>) =>
    claim.then(
      () => false,
      (thrown: unknown) => thrown instanceof VolumeBusyFault,
    );

  const rows: readonly { name: string; others: readonly ContainerStatus[]; running: string[]; busy: boolean }[] = [
    { name: 'nothing else is there', others: [], running: [], busy: false },
    { name: 'its own container runs', others: [container('a', 'running', ['v'])], running: ['a'], busy: false },
    { name: 'another one runs', others: [container('b', 'running', ['v'])], running: ['b'], busy: true },
    {
      name: 'the start of another was not answered',
      others: [container('b', 'created', ['v'])],
      running: ['b'],
      busy: true,
    },
    { name: 'another one has ended', others: [container('b', 'running', ['v'])], running: [], busy: false },
    { name: 'another one writes elsewhere', others: [container('b', 'running', ['w'])], running: ['b'], busy: false },
    { name: 'another one only reads', others: [container('b', 'running')], running: ['b'], busy: false },
  ];
  for (const { name, others, running, busy } of rows) {
    it(`${busy ? 'wait' : 'do not wait'} when ${name}`, async () => {
      expect(await isBusy(open(running).claim('v', 'a', others))).to.equal(busy);
    });
  }

  it('wait for one that is being started, until that has ended', async () => {
    const writers = open();
    await writers.claim('v', 'a', []);
    await writers.claim('v', 'a', []);
    expect(await isBusy(writers.claim('v', 'b', []))).to.equal(true);
    await writers.claim('w', 'b', []);
    writers.release('b');
    expect(await isBusy(writers.claim('v', 'b', []))).to.equal(true);
    writers.release('a');
    await writers.claim('v', 'b', []);
  });

  it('exclude each other when both begin at the same moment', async () => {
    const writers = open();
    const both = ['a', 'b'].map(replica => isBusy(writers.claim('v', replica, [])));
    expect(await Promise.all(both)).to.deep.equal([false, true]);
  });

  it('are seen while they are started', async () => {
    const writers = open();
    expect(writers.isStarting('v')).to.equal(false);
    await writers.claim('v', 'a', []);
    expect([writers.isStarting('v'), writers.isStarting('w')]).to.deep.equal([true, false]);
    writers.release('a');
    expect(writers.isStarting('v')).to.equal(false);
  });
});

describe('the container that may write to a volume', () => {
  const assigned = { volumes: [{ volumeId: 'v', type: 'volume', mountPath: '/data', readOnly: false }] };
  type State = ContainerStatus['state'];
  const rows: readonly {
    name: string;
    seen?: State;
    inspected?: State | 'fails';
    writes?: readonly string[];
    isAssigned?: true;
    isUncertain?: true;
    found: boolean;
  }[] = [
    { name: 'runs', seen: 'running', found: true },
    { name: 'was seen before it ran', seen: 'created', inspected: 'running', found: true },
    { name: 'has ended', seen: 'exited', inspected: 'exited', found: false },
    { name: 'is gone', seen: 'exited', found: false },
    { name: 'cannot be looked at', seen: 'created', inspected: 'fails', found: true },
    { name: 'was sent a start that was not answered', seen: 'created', isUncertain: true, found: true },
    { name: 'writes elsewhere', seen: 'running', writes: ['w'], found: false },
    { name: 'is assigned to write', seen: 'running', writes: [], isAssigned: true, found: true },
  ];
  for (const { name, seen = 'created', inspected, writes = ['v'], isAssigned, isUncertain, found } of rows) {
    it(`is ${found ? '' : 'not '}one that ${name}`, async () => {
      const container = { id: 'c', name: 'web', state: seen, owner: { replica: 'r', writes } };
      const parts = {
        view: { isListed: true, containers: [container], isUncertain: () => isUncertain === true },
        assignments: { get: () => (isAssigned ? { template: assigned } : undefined) },
        engine: {
          inspect: async () => {
            if (inspected === 'fails') throw new Error('it does not answer');
            return inspected && { ...container, state: inspected };
          },
        },
      };
      expect(await findWriter('v', parts as never)).to.equal(found ? 'the container web' : undefined);
    });
  }

  it('may be one that only reads, for who asks for those too', async () => {
    const reader = { id: 'c', name: 'web', state: 'running', owner: { replica: 'r' } };
    const mounts = assigned.volumes.map(mount => ({ ...mount, readOnly: true }));
    const parts = {
      view: { isListed: true, containers: [reader], isUncertain: () => false },
      assignments: { get: () => ({ template: { volumes: mounts } }) },
    };
    expect(await findWriter('v', parts as never)).to.equal(undefined);
    expect(await findWriter('v', parts as never, { orReader: true })).to.equal('the container web');
  });

  it('is any one before they were listed', async () => {
    expect(await findWriter('v', { view: { isListed: false } } as never)).to.equal('a container');
  });
});
