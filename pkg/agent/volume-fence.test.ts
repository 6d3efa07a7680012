import { expect } from 'chai';

import type { AssignedVolume } from '../../crds/volume/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import type { AgentEnv } from './agent-env.js';
import { createMemoryDisk } from './disk.js';
import { type GuardParts, VolumeFence } from './volume-fence.js';

const V = `vol_${'1'.repeat(26)}`;

describe('the fence of replicated volumes', () => {
  let clock: ManualClock;
  let files: Map<string, string>;
  let stopped: string[];
  let end: AbortController;
  const running = new Set<string>();
  beforeEach(() => {
    clock = new ManualClock();
    files = new Map();
    stopped = [];
    end = new AbortController();
    running.clear();
    running.add('writer').add('reader');
  });
  afterEach(async () => {
    end.abort();
    await clock.pass(2_000);
  });

  const view = {
    get containers() {
      return [...running].map(id => ({ id, state: 'running', owner: { replica: id } }));
    },
    markChanged: () => undefined,
  } as unknown as GuardParts['view'];
  const assigned = (
    role: 'primary' | 'replica' = 'primary',
    held: { readonly isHeld?: true } = {},
  ): AssignedVolume => ({
    id: V,
    name: 'data',
    type: 'volume',
    sizeBytes: 1,
    replication: { epoch: 1, role, peers: [], intervalSeconds: 5, fenceAfterSeconds: 20, ...held },
  });
  const open = async (boot = 'first') => {
    const stop = async (id: string) => {
      stopped.push(id);
      running.delete(id);
    };
    const processes = { boot, self: '', isRunning: () => false };
    const env = { clock, log: silentLogger, disk: createMemoryDisk(files), engine: { stop }, processes };
    const fence = new VolumeFence(env as unknown as AgentEnv);
    const asked = { count: 0 };
    const dial = { again: () => void asked.count++ };
    void fence.guard({ view, queue: { add: () => undefined }, dial }, end.signal);
    await clock.pass(0);
    return { fence, asked };
  };

  it('stops what writes once the control plane was not heard for the time, and nothing else', async () => {
    const { fence } = await open();
    fence.heard(fence.now());
    await fence.assign([assigned()], true);
    expect(await fence.admit(V, 'writer')).to.equal(true);
    await clock.pass(18_000);
    expect([stopped, fence.isFenced(V)]).to.deep.equal([[], false]);
    await clock.pass(4_000);
    expect([stopped, fence.isFenced(V)]).to.deep.equal([['writer'], true]);
  });

  it('never closes while heartbeats are answered, nor for a copy', async () => {
    const { fence } = await open();
    await fence.assign([assigned()], true);
    for (let beat = 0; beat < 20; beat++) {
      fence.heard(fence.now());
      await clock.pass(5_000);
    }
    await fence.assign([assigned('replica')], true);
    await clock.pass(60_000);
    expect(stopped).to.deep.equal([]);
  });

  it('counts from when the heartbeat was sent, and not from its answer', async () => {
    const { fence } = await open();
    const sentAt = fence.now();
    await fence.assign([assigned()], true);
    await fence.admit(V, 'writer');
    await clock.pass(15_000);
    fence.heard(sentAt);
    await clock.pass(7_000);
    expect(stopped).to.deep.equal(['writer']);
  });

  it('lets nothing write again until everything is assigned anew, for which it asks', async () => {
    const { fence, asked } = await open();
    fence.heard(fence.now());
    await fence.assign([assigned()], true);
    await clock.pass(30_000);
    fence.heard(fence.now());
    await fence.assign([assigned()], false);
    await clock.pass(2_000);
    expect([await fence.admit(V, 'writer'), asked.count > 0]).to.deep.equal([false, true]);
    await fence.assign([assigned()], true);
    expect([fence.isFenced(V), await fence.admit(V, 'writer')]).to.deep.equal([false, true]);
  });

  it('stops what writes to a volume that is held, and lets it write again when it is not', async () => {
    const { fence, asked } = await open();
    fence.heard(fence.now());
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
    first.fence.heard(first.fence.now());
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
    first.fence.heard(first.fence.now());
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
});
