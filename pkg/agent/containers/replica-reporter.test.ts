import { expect } from 'chai';

import { findNextRetry } from '../../../crds/report/index.js';
import { keys } from '../../../crds/keys/index.js';
import { sleep } from '../../clock/index.js';
import { LAB_TENANT, replica } from '../../link/dispatcher-lab.testing.js';
import {
  EngineRefusedFault,
  type EngineOperation,
  type ImageLogin,
  ImagePullFault,
  type OnPullProgress,
} from '../engine/index.js';
import { NodeLab } from '../node-lab.testing.js';

describe('reports of an agent', () => {
  let lab: NodeLab;
  beforeEach(async () => {
    lab = new NodeLab();
    await lab.start();
    await lab.startAgent();
  });
  afterEach(async () => {
    await lab.stopAgent();
    lab.stop();
  });

  const runOne = async () => {
    await lab.assign(replica());
    await lab.clock.pass(0);
    return lab.engine.containers[0]!.id;
  };

  it('say how a container ended last, with its last lines, also when it runs again', async () => {
    const id = await runOne();
    const at = new Date(lab.clock.now()).toISOString();
    lab.engine.crash(id, 137, { oomKilled: true, output: 'allocating' });
    await lab.clock.pass(0);

    const lastEnd = { exitCode: 137, oomKilled: true, output: 'allocating', at };
    expect(lab.report('rep_1')).to.deep.include({ state: 'running', restarts: 1, user: '', lastEnd });

    await lab.stopAgent();
    await lab.startAgent();
    const { output: _, ...kept } = lastEnd;
    expect(lab.report('rep_1')?.lastEnd, 'output is not kept on the machine').to.deep.equal(kept);
  });

  it('say until when a container waits that ends again and again', async () => {
    const id = await runOne();
    for (let turn = 0; turn < 4; turn++) {
      lab.engine.crash(id, 1);
      await lab.clock.pass(0);
      const report = lab.report('rep_1')!;
      if (report.state !== 'exited') continue;
      const waitMs = findNextRetry(report.retry!, lab.clock.now()) - lab.clock.now();
      expect(waitMs).to.be.greaterThan(0);
      await lab.clock.pass(waitMs - 1);
      expect(lab.report('rep_1')?.state).to.equal('exited');
      await lab.clock.pass(2);
      expect(lab.report('rep_1')?.state).to.equal('running');
    }
    expect(lab.report('rep_1')?.restarts).to.be.greaterThan(2);
  });

  it('say when a pull is tried next, and not again while that stays true', async () => {
    lab.failure = (operation, when) =>
      operation === 'pull' && when === 'before' ? new ImagePullFault('unreachable') : undefined;
    await lab.assign(replica());
    await lab.clock.pass(200_000);
    const before = lab.report('rep_1')!;
    expect(before).to.include({ state: 'failed', reason: 'image_pull_failed' });
    expect(before.retry?.everySeconds).to.equal(60);
    const next = findNextRetry(before.retry!, lab.clock.now());
    expect(next - lab.clock.now()).to.be.within(1, 60_000);

    const revision = await lab.store.revision();
    await lab.clock.pass(600_000);
    expect(await lab.store.revision()).to.equal(revision);
    expect(findNextRetry(before.retry!, lab.clock.now()) - lab.clock.now()).to.be.within(1, 60_000);
  });

  it('carry the last failing health check until one passes', async () => {
    const healthCheck = { type: 'exec', command: ['/bin/check'] } as const;
    await lab.assign(replica({ template: { ...replica().template, healthCheck } }));
    await lab.clock.pass(2_000);
    const { id } = lab.engine.containers[0]!;
    const failedCheck = { exitCode: 7, output: 'no', at: new Date(lab.clock.now()).toISOString() };
    lab.engine.setHealth(id, 'unhealthy', failedCheck);
    await lab.clock.pass(0);
    expect(lab.report('rep_1')).to.deep.include({ health: 'unhealthy', failedCheck });
    const revision = await lab.store.revision();
    lab.engine.setHealth(id, 'unhealthy', { ...failedCheck, at: new Date(lab.clock.now() + 9).toISOString() });
    await lab.clock.pass(0);
    expect(await lab.store.revision(), 'the same failure is not written again').to.equal(revision);
    lab.engine.setHealth(id, 'healthy');
    await lab.clock.pass(0);
    expect(lab.report('rep_1')).to.not.have.property('failedCheck');
  });

  it('carry the last lines of a container whose check fails, read once for each that differs, twice a minute at most', async () => {
    const healthCheck = { type: 'exec', command: ['/bin/check'] } as const;
    await lab.assign(replica({ template: { ...replica().template, healthCheck } }));
    await lab.clock.pass(2_000);
    const { id, name } = lab.engine.containers[0]!;
    const at = new Date(lab.clock.now()).toISOString();
    const fail = async (output: string, health: 'starting' | 'unhealthy' = 'unhealthy') => {
      lab.engine.setHealth(id, health, { exitCode: 7, output, at });
      await lab.clock.pass(5_000);
      return lab.report('rep_1');
    };
    lab.engine.print(id, 'cannot bind\n');
    const starting = await fail('no', 'starting');
    expect(starting).to.include({ containerId: id, containerName: name });
    expect(starting?.failedCheck).to.include({ output: 'no', log: 'cannot bind\n' });
    expect((await fail('no'))?.failedCheck).to.include({ output: 'no', log: 'cannot bind\n' });

    const revision = await lab.store.revision();
    lab.engine.print(id, 'still cannot\n');
    await fail('no');
    expect(await lab.store.revision(), 'what is written meanwhile causes no write').to.equal(revision);
    expect((await fail('at 12:01'))?.failedCheck).to.include({ output: 'at 12:01', log: 'cannot bind\n' });
    await lab.clock.pass(30_000);
    expect((await fail('at 12:02'))?.failedCheck).to.include({ log: 'cannot bind\nstill cannot\n' });
    lab.engine.setHealth(id, 'healthy');
    await lab.clock.pass(5_000);
    expect(lab.report('rep_1')).to.not.have.any.keys('failedCheck', 'containerName');
  });

  it('say so when the last lines of an unhealthy container cannot be cleared of secrets, or not be read', async () => {
    await lab.assign(replica());
    await lab.clock.pass(2_000);
    const { id } = lab.engine.containers[0]!;
    const { readLastLines } = lab.engine;
    const check = { exitCode: 7, output: 'a', at: new Date(lab.clock.now()).toISOString() };
    for (const [output, read, expected] of [
      ['a', () => Promise.resolve({ isWithheld: true as const }), true],
      ['b', () => Promise.reject(new Error('away')), undefined],
    ] as const) {
      lab.engine.readLastLines = read;
      lab.engine.setHealth(id, 'unhealthy', { ...check, output });
      await lab.clock.pass(35_000);
      expect(lab.report('rep_1')?.failedCheck).to.include({ output }).and.not.have.property('log');
      expect(lab.report('rep_1')?.failedCheck?.isLogWithheld).to.equal(expected);
    }
    lab.engine.readLastLines = readLastLines;
  });

  const hang = (operation: EngineOperation) => {
    lab.latencyMs = each => (each === operation ? 300_000 : 0);
  };

  it('say that the engine does not finish creating a container, since when', async () => {
    hang('start');
    const since = new Date(lab.clock.now() + 300).toISOString();
    await lab.assign(replica());
    await lab.clock.pass(20_000);
    expect(lab.report('rep_1')).to.include({ state: 'creating', since }).and.to.not.have.property('reason');
    await lab.clock.pass(20_000);
    expect(lab.report('rep_1')).to.include({ state: 'creating', since, reason: 'create_stuck' });
    lab.latencyMs = () => 0;
    await lab.clock.pass(300_000); // the call that hangs ends
  });

  it('say that nothing of an image arrives, until something does', async () => {
    const pull = lab.engine.pull.bind(lab.engine);
    let arrive = () => {};
    lab.engine.pull = async (image, login, onProgress = () => {}) => {
      arrive = onProgress;
      await sleep(lab.clock, 300_000);
      return pull(image, login);
    };
    await lab.assign(replica());
    await lab.clock.pass(40_000);
    arrive();
    await lab.clock.pass(40_000);
    expect(lab.report('rep_1')).to.include({ state: 'pulling' }).and.to.not.have.property('reason');
    await lab.clock.pass(40_000);
    expect(lab.report('rep_1')).to.include({ state: 'pulling', reason: 'pull_stuck' });
    arrive();
    await lab.clock.pass(1_000);
    expect(lab.report('rep_1')).to.include({ state: 'pulling' }).and.to.not.have.property('reason');
    await lab.clock.pass(61_000);
    expect(lab.report('rep_1')).to.include({ state: 'pulling', reason: 'pull_stuck' });
    await lab.clock.pass(300_000);
    expect(lab.report('rep_1')).to.include({ state: 'running' }).and.to.not.have.property('reason');
  });

  it('say how much of an image has arrived, in few writes however long it takes', async () => {
    const pull = lab.engine.pull.bind(lab.engine);
    const totalBytes = 2_000_000_000;
    let isQuick = false;
    lab.engine.pull = async (image: string, login?: ImageLogin, onProgress?: OnPullProgress) => {
      const seconds = isQuick ? 2 : 3600;
      for (let second = 1; second <= seconds; second++) {
        await sleep(lab.clock, 1_000);
        onProgress?.({ receivedBytes: Math.floor((totalBytes * second) / seconds), totalBytes });
      }
      return pull(image, login);
    };
    const sent: (number | undefined)[] = [];
    const send = lab.wire.report.bind(lab.wire);
    lab.wire.report = async batch => {
      sent.push(...batch.reports.map(report => report.pull?.receivedBytes));
      await send(batch);
    };
    await lab.assign(replica());
    await lab.clock.pass(1_800_000);
    const seen = lab.report('rep_1');
    expect(seen).to.include({ state: 'pulling' }).and.to.not.have.property('reason');
    expect(seen!.pull!.receivedBytes / totalBytes).to.be.within(0.44, 0.51);
    await lab.clock.pass(1_900_000);
    expect(lab.report('rep_1')).to.include({ state: 'running' }).and.to.not.have.property('pull');
    // One that is sent again and differs in nothing is not written.
    const told = [...new Set(sent.filter(bytes => bytes !== undefined))];
    expect(told.length).to.be.within(15, 21);
    expect(told).to.deep.equal(told.toSorted((a, b) => a - b));

    [isQuick, sent.length] = [true, 0];
    await lab.assign(replica({ uid: 'rep_2', slot: 1, template: { ...replica().template, image: 'other:1' } }));
    await lab.clock.pass(10_000);
    expect(lab.report('rep_2')).to.include({ state: 'running' });
    expect(sent.filter(bytes => bytes !== undefined)).to.deep.equal([]);
  });

  it('say that the engine does not stop a container, and what it says', async () => {
    await runOne();
    lab.failure = (operation, when) =>
      operation === 'stop' && when === 'before'
        ? new EngineRefusedFault(500, 'cannot kill: permission denied')
        : undefined;
    await lab.delete(keys.replica(LAB_TENANT, 'web', 0));
    await lab.assign(replica({ retiringSince: new Date(lab.clock.now()).toISOString() }));
    await lab.clock.pass(30_000);
    const { since } = lab.report('rep_1')!;
    expect(lab.report('rep_1')).to.include({
      state: 'stopping',
      reason: 'stop_failed',
      message: 'cannot kill: permission denied',
    });
    await lab.clock.pass(60_000);
    expect(lab.report('rep_1')?.since).to.equal(since);

    lab.failure = undefined;
    await lab.clock.pass(60_000);
    expect(lab.report('rep_1')?.state).to.equal('removed');
  });
});
