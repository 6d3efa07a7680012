import { expect } from 'chai';

import { replica } from '../../link/dispatcher-lab.testing.js';
import { NodeLab } from '../node-lab.testing.js';

const MINUTE = 60_000;

describe('two agents with one identity', () => {
  let lab: NodeLab;

  beforeEach(async () => {
    lab = await new NodeLab().start();
  });

  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const running = (engine: NodeLab['engine']) => engine.containers.filter(({ state }) => state === 'running').length;

  it('do not both act: the second one makes nothing while the first one lives, and has the node afterwards', async () => {
    await lab.startAgent();
    const copy = await lab.startCopy();
    await lab.assign(replica());
    await lab.clock.pass(5 * MINUTE);
    expect([running(lab.engine), copy.engine.changes]).to.deep.equal([1, 0]);

    lab.wire.up = false; // the first machine burns down
    await lab.clock.pass(MINUTE);
    expect(running(copy.engine)).to.equal(1);
    copy.stop();
  });

  it('do not both run a replica for ever: the first one comes back and stops what the second one runs', async () => {
    await lab.assign(replica());
    await lab.startAgent();
    await lab.clock.pass(1_000);
    const copy = await lab.startCopy();
    lab.wire.up = false;
    await lab.clock.pass(MINUTE);
    lab.wire.up = true;
    await lab.clock.pass(2 * MINUTE);
    expect([running(lab.engine), running(copy.engine)], 'a lease may end soon').to.deep.equal([1, 1]);
    await lab.clock.pass(3 * MINUTE);
    expect([running(lab.engine), running(copy.engine)]).to.deep.equal([0, 1]);

    copy.stop();
    copy.link.up = false;
    await lab.clock.pass(MINUTE);
    expect(running(lab.engine), 'the second one is gone').to.equal(1);
  });

  it('keep the only copy: what the other one does not run is not stopped', async () => {
    await lab.assign(replica());
    await lab.startAgent();
    await lab.clock.pass(1_000);
    const copy = await lab.startCopy();
    copy.engine.setReachable(false);
    lab.wire.up = false;
    await lab.clock.pass(MINUTE);
    lab.wire.up = true;
    await lab.clock.pass(10 * MINUTE);

    expect([running(lab.engine), running(copy.engine)]).to.deep.equal([1, 0]);
    copy.stop();
  });

  it('stop containers whose replicas were deleted meanwhile', async () => {
    await lab.assign(replica());
    await lab.startAgent();
    await lab.clock.pass(1_000);
    const copy = await lab.startCopy();
    lab.wire.up = false;
    await lab.clock.pass(MINUTE);
    await lab.delete('replicas/6f9619ff-8b86-4d01-b42d-00cf4fc964ff/web/0');
    lab.wire.up = true;
    await lab.clock.pass(5 * MINUTE);

    expect([running(lab.engine), running(copy.engine)]).to.deep.equal([0, 0]);
    copy.stop();
  });

  it('are one when the agent is restarted: the next one acts at once', async () => {
    await lab.startAgent();
    await lab.stopAgent();
    await lab.assign(replica());
    await lab.startAgent();
    await lab.clock.pass(1_000);

    expect(lab.running).to.deep.equal(['web running']);
  });
});
