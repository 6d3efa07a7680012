import { expect } from 'chai';

import { replica } from '../../link/dispatcher-lab.testing.js';
import { NodeLab } from '../node-lab.testing.js';

const MINUTE = 60_000;
const LIMIT = 10 * 2 ** 20;

describe('what containers write to their disk', () => {
  let lab: NodeLab;
  beforeEach(async () => {
    lab = new NodeLab();
    await lab.start();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const find = () => lab.engine.containers[0]!;

  it('is bounded: one that wrote too much is replaced by a fresh one, and the report says so', async () => {
    lab.containerDiskBytes = LIMIT;
    await lab.startAgent();
    await lab.assign(replica());
    await lab.clock.pass(1_000);
    const first = find().id;
    lab.engine.written.set(first, LIMIT);
    await lab.clock.pass(2 * MINUTE);
    expect(find().id, 'not more than it may').to.equal(first);

    lab.engine.written.set(first, LIMIT + 1);
    await lab.clock.pass(MINUTE);
    expect(lab.running).to.deep.equal(['web running']);
    expect(find().id).to.not.equal(first);
    expect(lab.report('rep_1')).to.include({ state: 'running', restarts: 1 });
  });

  it('is told and waited for longer and longer, when a container writes too much again and again', async () => {
    lab.containerDiskBytes = LIMIT;
    await lab.startAgent();
    await lab.assign(replica());
    const ids = new Set<string>();
    const told = new Set<string>();
    for (let step = 0; step < 6 * 120; step++) {
      for (const { id } of lab.engine.containers) {
        lab.engine.written.set(id, 20 * LIMIT);
        ids.add(id);
      }
      await lab.clock.pass(500);
      const { reason, message } = lab.report('rep_1') ?? {};
      if (reason !== undefined) told.add(`${reason}: ${message}`);
    }
    expect(ids.size, 'containers in six minutes').to.be.within(3, 7);
    expect(told.size).to.equal(1);
    expect([...told][0])
      .to.match(/^disk_limit_exceeded: /)
      .and.include('wrote 200 MiB')
      .and.include('allows 10 MiB');
  });

  it('is neither bounded nor measured where the operator sets no limit', async () => {
    await lab.startAgent();
    await lab.assign(replica());
    await lab.clock.pass(1_000);
    lab.engine.written.set(find().id, 1e15);
    let measured = 0;
    const { engine } = lab;
    const measure = engine.measureDisk.bind(engine);
    engine.measureDisk = () => (measured++, measure());
    await lab.clock.pass(5 * MINUTE);
    expect([measured, lab.report('rep_1')?.restarts]).to.deep.equal([0, 0]);
  });
});
