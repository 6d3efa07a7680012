import { expect } from 'chai';

import { checkHeartbeat } from '../../../crds/node/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { seededRandom } from '../../clock/index.js';
import { createMemoryDisk } from '../disk.js';
import { SimulatedEngine } from '../engine/index.js';
import { EngineMonitor } from './engine-monitor.js';

describe('engine monitor', () => {
  let clock: ManualClock;
  let engine: SimulatedEngine;
  let monitor: EngineMonitor;
  let stop: AbortController;
  const disk = createMemoryDisk();
  const options = { name: 'n1', version: 'test', diskBytes: 7 };

  beforeEach(() => {
    clock = new ManualClock();
    engine = new SimulatedEngine({ clock, random: seededRandom(1) });
    monitor = new EngineMonitor({ clock, engine, disk }, options);
    stop = new AbortController();
    void monitor.run(stop.signal);
  });
  afterEach(() => stop.abort());

  const judge = () => {
    const { status, reason } = monitor.describe();
    return `${status} ${reason}`;
  };

  it('says that an engine is down after three pings without an answer, and since when', async () => {
    await clock.pass(20_000);
    const lastAnswer = new Date(clock.now()).toISOString();
    monitor.noteList(clock.monotonic());
    engine.setReachable(false);
    await clock.pass(14_000);
    expect(judge()).to.equal('True engine_answers');
    await clock.pass(5_000);
    expect(judge()).to.equal('False engine_unreachable');
    const { message } = monitor.describe();
    expect(message).to.include(lastAnswer);
    await clock.pass(60_000);
    expect(monitor.describe().message, 'the same as long as it lasts').to.equal(message);
  });

  it('claims that it is back only when the containers were listed since, and the list was acted on', async () => {
    engine.setReachable(false);
    await clock.pass(20_000);
    expect(judge()).to.equal('False engine_unreachable');
    engine.setReachable(true);
    await clock.pass(20_000);
    expect(judge()).to.equal('False engine_unreachable');
    monitor.noteList(clock.monotonic());
    expect(judge()).to.equal('False engine_unreachable');
    await clock.pass(2_000);
    expect(judge()).to.equal('True engine_answers');
  });

  it('says that an engine which answers lists no containers', async () => {
    await clock.pass(70_000);
    expect(judge()).to.equal('True engine_answers');
    await clock.pass(10_000);
    expect(judge()).to.equal('False containers_unlisted');
  });

  it('knows from disk what the engine is while it does not answer', async () => {
    const first = await monitor.load();
    expect(first).to.deep.equal({
      capacity: { cpu: 8000, memory: 16 * 2 ** 30, disk: 7 },
      engine: { name: 'simulated', version: '1' },
    });
    engine.setReachable(false);
    const next = new EngineMonitor({ clock, engine, disk }, options);
    expect(await next.load()).to.deep.equal(first);
  });

  it('reads the engine again when what was stored of it is damaged', async () => {
    const known = await monitor.load();
    for (const damaged of ['', '{"capac', 'null', '[]', '{"capacity":{},"engine":{}}']) {
      await disk.write('engine.json', damaged);
      const next = new EngineMonitor({ clock, engine, disk }, options);
      expect(await next.load(), damaged).to.deep.equal(known);
      expect(JSON.parse((await disk.read('engine.json')) ?? ''), damaged).to.deep.equal(known);
    }
  });

  it('tells a version in characters that servers accept', async () => {
    const facts = await engine.facts();
    engine.facts = () => Promise.resolve({ ...facts, name: '', version: `27.5/rc (Debian)${'x'.repeat(80)}` });
    const next = new EngineMonitor({ clock, engine, disk: createMemoryDisk() }, options);
    const { engine: told } = await next.load();
    expect(told.name).to.equal('unknown');
    expect(told.version).to.match(/^27\.5-rc -Debian-x+$/);
    expect(
      checkHeartbeat({ labels: {}, capacity: { cpu: 1, memory: 1, disk: 1 }, agentVersion: '1', engine: told }).ok,
    ).to.equal(true);
  });
});
