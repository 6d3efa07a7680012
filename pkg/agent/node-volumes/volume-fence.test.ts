import { expect } from 'chai';

import type { AssignedVolume } from '../../../crds/volume/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { sleep } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { silentLogger } from '../../log/index.js';
import type { AgentEnv } from '../agent-env.js';
import { createMemoryDisk, type Disk } from '../disk.js';
import type { FencerDeadline } from '../fencer/index.js';
import { type GuardParts, VolumeFence } from './volume-fence.js';

const V = `vol_${'1'.repeat(26)}`;

describe('the fence of replicated volumes', () => {
  let clock: ManualClock;
  let files: Map<string, string>;
  let stopped: string[];
  let end: AbortController;
  const running = new Set<string>();
  /** What the labels of the containers say that they write to. */
  const labels = new Map<string, readonly string[]>();
  /** The containers whose stop is not answered. */
  const hanging = new Set<string>();
  let refused: Error | undefined;
  /** The replica of which it is not known whether its container was made, and the volume of one that is being started. */
  let uncertain: string | undefined;
  let starting: string | undefined;
  /** How long the next writes take. */
  const delays: number[] = [];
  /** What the fencer keeps; undefined while there is none. */
  let armed: readonly FencerDeadline[] | undefined;
  /** The volumes of which something else is promised than before. */
  const changed: string[] = [];
  beforeEach(() => {
    clock = new ManualClock();
    files = new Map();
    stopped = [];
    end = new AbortController();
    for (const each of [running, labels, hanging]) each.clear();
    for (const each of [delays, changed]) each.length = 0;
    armed = [];
    refused = undefined;
    uncertain = undefined;
    starting = undefined;
    running.add('writer').add('reader');
  });
  afterEach(async () => {
    end.abort();
    await clock.pass(2_000);
  });

  const view = {
    get containers() {
      return [...running].map(id => ({ id, state: 'running', owner: { replica: id, writes: labels.get(id) } }));
    },
    isListed: true,
    isUncertain: (uid: string) => uid === uncertain,
    markChanged: () => undefined,
  } as unknown as GuardParts['view'];
  const writers = { isStarting: (id: string) => id === starting };
  const assigned = (
    role: 'primary' | 'replica' = 'primary',
    held: { readonly isHeld?: true } = {},
    id = V,
  ): AssignedVolume => ({
    id,
    name: 'data',
    type: 'volume',
    sizeBytes: 1,
    replication: { ...makeTerm(1), role, peers: [], intervalSeconds: 5, fenceAfterSeconds: 20, ...held },
  });
  const open = async (boot = 'first') => {
    const stop = async (id: string) => {
      stopped.push(id);
      if (hanging.has(id)) return new Promise<void>(() => undefined);
      running.delete(id);
    };
    const memory = createMemoryDisk(files);
    const write: Disk['write'] = async (name, text) => {
      const ms = delays.shift();
      if (ms !== undefined) await sleep(clock, ms);
      if (refused) throw refused;
      await memory.write(name, text);
    };
    const processes = { boot, self: '', isRunning: () => false };
    const arm = async (deadlines: readonly FencerDeadline[]) => {
      if (!armed) throw new Error('no fencer');
      armed = deadlines;
    };
    const env = { clock, log: silentLogger, disk: { ...memory, write }, engine: { stop }, processes, fencer: { arm } };
    const fence = new VolumeFence(env as unknown as AgentEnv, id => changed.push(id));
    const asked = { count: 0 };
    const feed = { restart: () => void asked.count++ };
    void fence.guard({ view, writers, queue: { add: () => undefined }, feed }, end.signal);
    await clock.pass(0);
    return { fence, asked };
  };

  it('stops what writes once the control plane has answered no heartbeat for the time, and nothing else', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    expect(await fence.admit(V, 'writer')).to.equal(true);
    await clock.pass(18_000);
    expect([stopped, fence.isFenced(V)]).to.deep.equal([[], false]);
    await clock.pass(4_000);
    expect([stopped, fence.isFenced(V)]).to.deep.equal([['writer'], true]);
  });

  it('never closes while heartbeats are answered, nor for a copy', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    expect(await fence.admit(V, 'writer')).to.equal(true);
    for (let beat = 0; beat < 20; beat++) {
      fence.recordContact(fence.now());
      await clock.pass(5_000);
      expect(fence.isFenced(V)).to.equal(false);
    }
    await fence.assign([assigned('replica')], true);
    await clock.pass(60_000);
    expect([stopped, fence.isFenced(V)]).to.deep.equal([[], false]);
  });

  for (const isBack of [true, false]) {
    it(`stops what writes to a volume that was left out of a line, and ${isBack ? 'is back' : 'is still missing'}`, async () => {
      const { fence } = await open();
      fence.recordContact(fence.now());
      await fence.assign([assigned()], true);
      await fence.admit(V, 'writer');
      await fence.assign([], false);
      await clock.pass(2_000);
      if (isBack) await fence.assign([assigned()], false);
      await clock.pass(22_000);
      expect(stopped).to.deep.equal(['writer']);
    });
  }

  it('forgets a volume that is not assigned any more once its containers are gone', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    await fence.admit(V, 'writer');
    await fence.assign([], true);
    await clock.pass(2_000);
    expect(files.get('heard.json')).to.include(V);
    running.delete('writer');
    await clock.pass(2_000);
    expect(files.get('heard.json')).to.not.include(V);
  });

  it('stops a writer that is left of many, and remembers none that has no container any more', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    await fence.admit(V, 'writer');
    for (let n = 0; n < 20; n++) {
      running.add(`gone-${n}`);
      await fence.admit(V, `gone-${n}`);
    }
    for (let n = 0; n < 20; n++) running.delete(`gone-${n}`);
    await clock.pass(2_000);
    const kept = JSON.parse(files.get('heard.json')!) as { volumes: Record<string, { writers: string[] }> };
    expect(kept.volumes[V]?.writers).to.deep.equal(['writer']);
    await clock.pass(22_000);
    expect(stopped).to.deep.equal(['writer']);
  });

  it('remembers a writer whose container may be there and is not seen yet', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    running.delete('writer');
    starting = V;
    await fence.admit(V, 'writer');
    await clock.pass(2_000);
    expect(files.get('heard.json')).to.include('"writer"');
    [starting, uncertain] = [undefined, 'writer'];
    await clock.pass(2_000);
    expect(files.get('heard.json')).to.include('"writer"');
    uncertain = undefined;
    await clock.pass(2_000);
    expect(files.get('heard.json')).to.not.include('"writer"');
  });

  it('stops what says of itself that it writes, whatever was noted, and knows it after a restart', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    labels.set('writer', [V]);
    await fence.assign([assigned()], true);
    await clock.pass(2_000);
    expect(files.get('heard.json')).to.include('"writer"');
    await clock.pass(20_000);
    expect(stopped).to.deep.equal(['writer']);
  });

  it('stops the others in time when one stop is not answered', async () => {
    const { fence } = await open();
    const other = `vol_${'2'.repeat(26)}`;
    hanging.add('reader');
    fence.recordContact(fence.now());
    await fence.assign([assigned(), assigned('primary', { isHeld: true }, other)], true);
    await fence.admit(other, 'reader');
    await fence.admit(V, 'writer');
    await clock.pass(15_000);
    expect(stopped, 'it is asked once').to.deep.equal(['reader']);
    await clock.pass(7_000);
    expect(stopped).to.deep.equal(['reader', 'writer']);
  });

  it('lets nothing write whose name is not on the disk', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    refused = new Error('ENOSPC');
    for (const _attempt of [1, 2]) {
      const outcome = await fence.admit(V, 'writer').catch((thrown: Error) => thrown.message);
      expect(outcome).to.match(/state folder .* cannot be written.*; ./);
    }
    refused = undefined;
    expect(await fence.admit(V, 'writer')).to.equal(true);
    expect(files.get('heard.json')).to.include('"writer"');
  });

  it('leaves the newest on the disk, however long each write takes', async () => {
    const { fence } = await open();
    delays.push(8_000, 1_000);
    fence.recordContact(fence.now());
    const assigning = fence.assign([assigned()], true);
    const admitted = clock.pass(0).then(() => fence.admit(V, 'writer'));
    await clock.pass(12_000);
    await assigning;
    expect([await admitted, files.get('heard.json')?.includes('"writer"')]).to.deep.equal([true, true]);
  });

  it('writes nothing to the disk while nobody uses a volume', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    const passTime = async () => {
      for (let beat = 0; beat < 20; beat++) {
        await clock.pass(5_000);
        fence.recordContact(fence.now());
      }
      return files.get('heard.json');
    };
    const before = files.get('heard.json');
    expect(await passTime()).to.equal(before);
    await fence.admit(V, 'writer');
    const used = files.get('heard.json');
    expect(await passTime()).not.to.equal(used);
  });

  it('counts from when the heartbeat was sent, and not from its answer', async () => {
    const { fence } = await open();
    const sentAt = fence.now();
    await fence.assign([assigned()], true);
    await fence.admit(V, 'writer');
    await clock.pass(15_000);
    fence.recordContact(sentAt);
    await clock.pass(7_000);
    expect(stopped).to.deep.equal(['writer']);
  });

  it('lets nothing write again until everything is assigned anew, for which it asks', async () => {
    const { fence, asked } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    await clock.pass(30_000);
    fence.recordContact(fence.now());
    await fence.assign([assigned()], false);
    await clock.pass(2_000);
    expect([await fence.admit(V, 'writer'), asked.count > 0]).to.deep.equal([false, true]);
    await fence.assign([assigned()], true);
    expect([fence.isFenced(V), await fence.admit(V, 'writer')]).to.deep.equal([false, true]);
  });

  it('stops what writes to a volume that is held, and lets it write again when it is not', async () => {
    const { fence, asked } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    await fence.admit(V, 'writer');
    await fence.assign([assigned('primary', { isHeld: true })], false);
    await clock.pass(2_000);
    expect([stopped, await fence.admit(V, 'writer')]).to.deep.equal([['writer'], false]);
    await fence.assign([assigned()], false);
    expect([await fence.admit(V, 'writer'), asked.count]).to.deep.equal([true, 0]);
  });

  it('goes on counting after a restart of the agent', async () => {
    const first = await open();
    first.fence.recordContact(first.fence.now());
    await first.fence.assign([assigned()], true);
    await first.fence.admit(V, 'writer');
    await clock.pass(10_000);
    end.abort();
    end = new AbortController();
    await clock.pass(2_000);
    const { fence } = await open();
    expect(fence.isFenced(V)).to.equal(false);
    await clock.pass(10_000);
    expect([stopped, fence.isFenced(V)]).to.deep.equal([['writer'], true]);
  });

  it('counts the time as passed after a reboot', async () => {
    const first = await open();
    first.fence.recordContact(first.fence.now());
    await first.fence.assign([assigned()], true);
    await first.fence.admit(V, 'writer');
    await clock.pass(1_000);
    end.abort();
    end = new AbortController();
    const { fence } = await open('second');
    expect(fence.isFenced(V)).to.equal(true);
    await clock.pass(2_000);
    expect(stopped).to.deep.equal(['writer']);
  });

  describe('with a fencer', () => {
    const FOLDER = '/volumes/v';
    const begin = async (seconds = 20) => {
      const opened = await open();
      opened.fence.recordContact(opened.fence.now());
      await opened.fence.assign([withTime(seconds)], true);
      await opened.fence.prepare(V, async () => FOLDER);
      return opened.fence;
    };
    const withTime = (seconds: number): AssignedVolume => {
      const volume = assigned();
      return { ...volume, replication: { ...volume.replication!, fenceAfterSeconds: seconds } };
    };
    const promise = (fence: VolumeFence, seconds = 20) => fence.describe(withTime(seconds)).fencesAfterSeconds;
    const because = (fence: VolumeFence) => fence.describe(withTime(20)).unfenced;

    it('promises to stop what writes, and puts it off with each heartbeat that is answered', async () => {
      const fence = await begin();
      const due = () => armed?.map(({ volume, folder, at }) => [volume, folder, at - fence.now()]);
      expect([promise(fence), due()]).to.deep.equal([20, [[V, FOLDER, 30_000]]]);
      await clock.pass(6_000);
      expect(due()).to.deep.equal([[V, FOLDER, 24_000]]);
      fence.recordContact(fence.now() - 1_000);
      await clock.pass(0);
      expect(due()).to.deep.equal([[V, FOLDER, 29_000]]);
    });

    it('promises nothing while there is none, and says so when that changes', async () => {
      armed = undefined;
      const fence = await begin();
      expect([promise(fence), because(fence), changed]).to.deep.equal([undefined, 'no_fencer', []]);
      armed = [];
      fence.recordContact(fence.now());
      await clock.pass(0);
      expect([promise(fence), changed]).to.deep.equal([20, [V]]);
      armed = undefined;
      fence.recordContact(fence.now());
      await clock.pass(0);
      expect([promise(fence), changed]).to.deep.equal([undefined, [V, V]]);
    });

    it('promises nothing while what writes cannot be noted on the disk', async () => {
      const fence = await begin();
      refused = new Error('EROFS');
      await fence.admit(V, 'writer').catch(() => undefined);
      expect([promise(fence), because(fence)]).to.deep.equal([undefined, 'state_unwritable']);
      refused = undefined;
      await fence.admit(V, 'writer');
      expect(promise(fence)).to.equal(20);
    });

    it('says at once that what it promised does not stand while the disk takes nothing, and when it stands again', async () => {
      const fence = await begin();
      await fence.admit(V, 'writer');
      changed.length = 0;
      refused = new Error('EROFS');
      for (let beat = 0; beat < 2; beat++) {
        await clock.pass(5_000);
        fence.recordContact(fence.now());
        await clock.pass(0);
        expect([promise(fence), changed], `beat ${beat}`).to.deep.equal([undefined, [V]]);
      }
      refused = undefined;
      await clock.pass(5_000);
      fence.recordContact(fence.now());
      await clock.pass(0);
      expect([promise(fence), changed]).to.deep.equal([20, [V, V]]);
    });

    it('promises nothing when the agent ends by order, and is let go once that is known', async () => {
      const fence = await begin();
      fence.withdraw();
      expect([promise(fence), because(fence), armed?.length]).to.deep.equal([undefined, 'agent_stopping', 1]);
      await fence.release([V]);
      fence.recordContact(fence.now());
      await clock.pass(0);
      expect(armed).to.deep.equal([]);
    });

    it('guards what the agent before it had, from the first answer on', async () => {
      await begin();
      end.abort();
      end = new AbortController();
      armed = [];
      const { fence } = await open();
      fence.recordContact(fence.now());
      await clock.pass(0);
      expect(armed.map(({ folder }) => folder)).to.deep.equal([FOLDER]);
    });

    it('keeps to a longer time only once the control plane knows of it, and to a shorter one at once', async () => {
      const fence = await begin();
      await fence.admit(V, 'writer');
      await fence.assign([withTime(60)], true);
      expect(promise(fence, 60)).to.equal(60);
      await clock.pass(19_000);
      expect(fence.isFenced(V)).to.equal(false);
      await clock.pass(2_000);
      expect(fence.isFenced(V), 'not said yet').to.equal(true);
      fence.recordContact(fence.now());
      await fence.assign([withTime(60)], true);
      await fence.confirm({ id: V, state: 'ready', fencesAfterSeconds: 60 });
      await clock.pass(40_000);
      expect(fence.isFenced(V), 'known').to.equal(false);
      await fence.assign([withTime(20)], true);
      expect(fence.isFenced(V), 'shorter').to.equal(true);
    });
  });

  it('is closed by an answer that comes too late, though nobody has looked before', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    end.abort(); // nobody looks
    await clock.pass(21_000);
    fence.recordContact(fence.now());
    expect(fence.isFenced(V)).to.equal(true);
  });

  it('is closed when the presence of the node had ended, until everything is assigned anew', async () => {
    const { fence } = await open();
    fence.recordContact(fence.now());
    await fence.assign([assigned()], true);
    fence.close();
    expect(fence.isFenced(V)).to.equal(true);
    await fence.assign([assigned()], true);
    expect(fence.isFenced(V)).to.equal(false);
  });
});
