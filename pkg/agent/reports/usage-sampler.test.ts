import { expect } from 'chai';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { silentLogger } from '../../log/index.js';
import type { ContainerStatus, ContainerUsage } from '../engine/index.js';
import { UsageSampler } from './usage-sampler.js';

const MIB = 2 ** 20;

const container = (id: string, state: ContainerStatus['state'] = 'running') =>
  ({ id, state, owner: { replica: `rep_${id}` } }) as ContainerStatus;

describe('what containers use', () => {
  const clock = new ManualClock();
  let containers: readonly ContainerStatus[];
  let used: Map<string, ContainerUsage>;
  let isAway: boolean;
  let sampler: UsageSampler;
  beforeEach(() => {
    containers = [container('a')];
    used = new Map([['a', { cpuNanos: 1e9, memory: 5 * MIB }]]);
    isAway = false;
    const readUsage = (id: string) => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(used.get(id)));
    const env = { engine: { readUsage } as never, clock, log: silentLogger };
    sampler = new UsageSampler(env, {
      get containers() {
        return containers;
      },
    });
  });

  it('is the average between two readings, told once', async () => {
    await sampler.sample();
    expect(sampler.unsent).to.equal(undefined);
    await clock.pass(10_000);
    used.set('a', { cpuNanos: 3.5e9, memory: 6 * MIB });
    await sampler.sample();
    const { unsent } = sampler;
    expect(unsent).to.deep.equal([{ replica: 'rep_a', cpu: 250, memory: 6 * MIB }]);
    sampler.markSent(unsent);
    expect(sampler.unsent).to.equal(undefined);
  });

  it('is not made up for one that was started in between, has ended, or cannot be asked for', async () => {
    await sampler.sample();
    await clock.pass(10_000);
    used.set('a', { cpuNanos: 5e8, memory: MIB });
    containers = [container('a'), container('b', 'exited'), container('c')];
    await sampler.sample();
    expect(sampler.unsent).to.equal(undefined);
    isAway = true;
    await clock.pass(10_000);
    await sampler.sample();
    isAway = false;
    await clock.pass(10_000);
    used.set('a', { cpuNanos: 1.5e9, memory: MIB });
    await sampler.sample();
    expect(sampler.unsent?.map(({ cpu }) => cpu)).to.deep.equal([50]);
  });
});
