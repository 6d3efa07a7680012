import { expect } from 'chai';

import type { EngineContainer } from './engine-view.js';
import { SlotWatch } from './slot-watch.js';
import { until } from '../../dev/testing/index.js';

const container = (deployment: string, slot: number): EngineContainer => ({
  id: `${deployment}-${slot}`,
  name: `${deployment}-${slot}`,
  image: 'i',
  state: 'running',
  status: 'Up 1 second (healthy)',
  labels: {
    'mooring.io/deployment': deployment,
    'mooring.io/deployment-uid': deployment,
    'mooring.io/slot': `${slot}`,
  },
});

describe('the slot watch', () => {
  it('records when no container of a deployment runs any more', async () => {
    let shown: readonly EngineContainer[] = [container('web', 0), container('web', 1), container('db', 0)];
    let looks = 0;
    const containers = () => {
      looks++;
      return Promise.resolve(shown);
    };
    const seen = async (now: readonly EngineContainer[]) => {
      shown = now;
      const from = looks;
      await until('two looks', () => Promise.resolve(looks > from + 2));
    };
    const watch = new SlotWatch({ containers });
    await seen(shown);
    expect([watch.fewest('web'), watch.fewestHealthy('db')]).to.deep.equal([2, 1]);

    watch.forget();
    await seen([container('db', 0)]);
    await seen([container('web', 0), container('web', 1), container('db', 0)]);
    await watch.stop();
    expect([watch.fewest('web'), watch.fewestHealthy('web'), watch.fewest('db')]).to.deep.equal([0, 0, 1]);
  });
});
