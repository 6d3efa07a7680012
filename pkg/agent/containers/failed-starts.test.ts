import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import { LAB_TENANT, replica } from '../../link/dispatcher-lab.testing.js';
import { type EngineOperation, EngineRefusedFault, ImagePullFault } from '../engine/index.js';
import { NodeLab } from '../node-lab.testing.js';

const MINUTE = 60_000;

describe('failed starts', () => {
  let lab: NodeLab;
  let calls: EngineOperation[];
  let broken: EngineOperation | undefined;

  /** What dockerd writes about a container that cannot start: another id, address and time in each message. */
  const refuse = (attempt: number) => {
    const id = attempt.toString(16).padStart(64, 'a');
    const text = `driver failed on endpoint web (${id}): bind 10.0.0.9:${20_000 + attempt}: 2030-01-01T00:00:${10 + (attempt % 50)}Z`;
    return new EngineRefusedFault(500, text);
  };

  beforeEach(async () => {
    calls = [];
    broken = 'start';
    lab = new NodeLab();
    lab.failure = (operation, when) => {
      if (when !== 'before') return undefined;
      calls.push(operation);
      if (operation !== broken) return undefined;
      return operation === 'pull' ? new ImagePullFault('unreachable') : refuse(calls.length);
    };
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const count = (operation: EngineOperation) => calls.filter(each => each === operation).length;

  for (const operation of ['pull', 'create', 'start'] as const) {
    it(`of which ${operation} is refused are retried less and less often, and reported once for each doubling of the wait`, async () => {
      broken = operation;
      await lab.assign(replica());
      const before = await lab.store.revision();
      await lab.clock.pass(10 * MINUTE);

      // 1, 2, 4, 8, 16, 32 s, then once a minute; a container that is not there is asked for before each pull
      expect(count(operation)).to.be.within(10, 18);
      expect((await lab.store.revision()) - before).to.be.at.most(9);
      expect(lab.report('rep_1')?.state).to.equal('failed');
    });
  }

  it('are not retried sooner because of events, lists or assignments that are sent again', async () => {
    await lab.assign(replica());
    for (let second = 0; second < 120; second++) {
      await lab.assign(replica({ createdAt: String(second) }));
      lab.engine.setReachable(true); // everything may have changed
      await lab.clock.pass(1_000);
    }
    expect(count('start')).to.be.within(5, 9);
  });

  it('are not retried sooner by a new replica of the slot with the same template', async () => {
    await lab.assign(replica());
    await lab.clock.pass(5 * MINUTE);
    const before = count('start');
    for (let turn = 2; turn < 12; turn++) {
      await lab.delete(keys.replica(LAB_TENANT, 'web', 0));
      await lab.assign(replica({ uid: `rep_${turn}` }));
      await lab.clock.pass(2_000);
    }
    expect(count('start') - before).to.be.at.most(1);

    await lab.delete(keys.replica(LAB_TENANT, 'web', 0));
    await lab.assign(replica({ uid: 'rep_changed', templateHash: 'another' }));
    broken = undefined;
    await lab.clock.pass(100);
    expect(lab.running, 'a changed template is tried at once').to.deep.equal(['web running']);
  });

  it('are still known after a restart of the agent', async () => {
    await lab.assign(replica());
    await lab.clock.pass(5 * MINUTE);
    const before = count('start');
    for (let turn = 0; turn < 3; turn++) {
      await lab.stopAgent();
      await lab.startAgent();
    }
    expect(count('start')).to.equal(before);
    await lab.clock.pass(2 * MINUTE);
    expect(count('start')).to.be.greaterThan(before);
  });

  it('end when a start succeeds, and are forgotten after a minute of running', async () => {
    await lab.assign(replica());
    await lab.clock.pass(2 * MINUTE);
    broken = undefined;
    await lab.clock.pass(2 * MINUTE);
    expect(lab.report('rep_1')?.state).to.equal('running');

    const { id } = lab.engine.containers[0]!;
    lab.engine.crash(id, 1);
    await lab.clock.pass(0);
    expect(lab.report('rep_1'), 'restarted at once').to.include({ state: 'running', restarts: 1 });
  });

  it('of many replicas leave a bounded number of revisions', async () => {
    for (let slot = 0; slot < 20; slot++) await lab.assign(replica({ uid: `rep_${slot}`, slot }));
    const before = await lab.store.revision();
    await lab.clock.pass(10 * MINUTE);
    const early = await lab.store.revision();
    expect(early - before).to.be.at.most(180);
    await lab.clock.pass(10 * MINUTE);
    expect((await lab.store.revision()) - early, 'once the wait has its full length').to.be.at.most(20);
  });
});
