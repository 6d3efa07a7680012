import { expect } from 'chai';

import type { Report } from '../../crds/report/index.js';
import { DispatcherLab, LAB_NODE, replica } from './dispatcher-lab.testing.js';

const DAY_MS = 86_400_000;

describe('the time in a report since when a container is in its state', () => {
  let lab: DispatcherLab;
  beforeEach(async () => {
    lab = await new DispatcherLab().start();
    await lab.assign(replica({ createdAt: time() }));
    await lab.clock.pass(60_000);
  });
  afterEach(() => lab.stop());

  const time = (offMs = 0) => new Date(lab.clock.now() + offMs).toISOString();
  const tell = async (change: Partial<Report>) => {
    const { id: nodeId } = LAB_NODE;
    const about = { replica: 'rep_1', deployment: 'web', slot: 0, nodeId, templateHash: 'hash' } as const;
    const report = { ...about, state: 'running', health: 'none', restarts: 0, at: time(), ...change } as const;
    await lab.dispatcher.report(LAB_NODE, { reports: [report] });
    await lab.cache.barrier();
    return lab.report('rep_1')?.since;
  };

  it('is what the agent says, also when that comes late', async () => {
    const since = time(-30_000);
    expect(await tell({ since })).to.equal(since);
  });

  for (const [name, offMs] of [['a day ahead', DAY_MS] as const, ['a day back', -DAY_MS] as const]) {
    it(`is when its report came, where the clock of the node is ${name}`, async () => {
      const began = time();
      expect(await tell({ since: time(offMs) })).to.equal(began);
      const written = await lab.store.revision();
      await lab.clock.pass(5_000);
      expect(await tell({ since: time(offMs - 5_000) }), 'the same, sent again').to.equal(began);
      expect(await lab.store.revision()).to.equal(written);

      expect(await tell({ since: time(offMs), health: 'starting' }), 'it is in the same state').to.equal(began);
      await lab.clock.pass(5_000);
      const ended = time();
      expect(await tell({ since: time(offMs), state: 'exited' })).to.equal(ended);
      await lab.clock.pass(5_000);
      expect(await tell({ since: time(offMs), restarts: 1 })).to.equal(time());
    });
  }

  it('is before the state that it was in before by no clock that stands still', async () => {
    const since = time();
    await tell({ since, state: 'creating' });
    await lab.clock.pass(20_000);
    await tell({ since: time(-1_000), state: 'exited' });
    await lab.clock.pass(20_000);
    expect(await tell({ since })).to.equal(time());
  });

  it('is not before the replica was wanted, where the clock of the server is a day back', async () => {
    const createdAt = time(DAY_MS);
    await lab.assign(replica({ createdAt }));
    expect(await tell({ since: time() })).to.equal(createdAt);
  });

  it('is not made up where the agent does not say it', async () => {
    expect(await tell({})).to.equal(undefined);
  });
});
