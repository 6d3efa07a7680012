import { expect } from 'chai';
import sinon from 'sinon';

import type { Replica } from '../../../crds/replica/index.js';
import { sleep } from '../../clock/index.js';
import { replica } from '../../link/dispatcher-lab.testing.js';
import { type Engine, EngineRefusedFault } from '../engine/index.js';
import { NodeLab } from '../node-lab.testing.js';

const template: Replica['template'] = {
  image: 'registry.test/web:1',
  secretsVersion: 0,
  stopGracePeriod: '30s',
  preStop: ['/bin/drain'],
};

describe('the stop of a container', () => {
  let lab: NodeLab;
  beforeEach(async () => {
    lab = new NodeLab();
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    lab.latencyMs = () => 0;
    await lab.stopAgent();
    lab.stop();
  });

  const retire = async (changes: Partial<Replica> = {}) => lab.assign(replica({ retiringSince: 'now', ...changes }));

  it('begins after its preStop, and with what that one left of the grace', async () => {
    await lab.assign(replica({ template }));
    await lab.clock.pass(0);
    const engine: Engine = lab.engine;
    const exec = sinon.stub(engine, 'exec').callsFake(async () => {
      await sleep(lab.clock, 12_000);
      return 0;
    });
    const stop = sinon.spy(engine, 'stop');
    await retire({ template });
    await lab.clock.pass(11_000);
    expect(exec.args.map(([, command, withinMs]) => [command, withinMs])).to.deep.equal([[['/bin/drain'], 30_000]]);
    expect(stop.callCount).to.equal(0);

    await lab.clock.pass(2_000);
    expect(stop.args.map(([, grace]) => grace)).to.deep.equal([18]);
    expect(exec.callCount).to.equal(1);
    expect(lab.report('rep_1')?.state).to.equal('removed');
  });

  it('happens although the engine refuses its preStop', async () => {
    await lab.assign(replica({ template }));
    await lab.clock.pass(0);
    sinon.stub(lab.engine, 'exec').rejects(new EngineRefusedFault(500, 'no process can be started'));
    await retire({ template });
    await lab.clock.pass(1_000);
    expect(lab.running).to.deep.equal([]);
    expect(lab.report('rep_1')?.state).to.equal('removed');
  });

  it('delays no other container, however many stop slowly', async () => {
    const slots = Array.from({ length: 20 }, (_, slot) => ({ uid: `rep_${slot}`, slot }));
    for (const each of slots) await lab.assign(replica(each));
    await lab.clock.pass(1_000);
    lab.latencyMs = operation => (operation === 'stop' ? 600_000 : 0);
    for (const each of slots) await retire(each);
    await lab.clock.pass(1_000);
    await lab.assign(replica({ uid: 'rep_new', slot: 0, deployment: 'api', deploymentUid: 'dep_2' }));
    await lab.clock.pass(1_000);
    expect(lab.report('rep_new')?.state).to.equal('running');
    expect(lab.running.filter(each => each.startsWith('web'))).to.have.length(20);

    await lab.clock.pass(600_000);
    expect(lab.running).to.deep.equal(['api running']);
  });
});
