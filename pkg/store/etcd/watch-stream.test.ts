import { expect } from 'chai';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { silentLogger } from '../../log/index.js';
import { toRangeBelow } from './messages.js';
import { CLUSTER, createScriptedClient, encodeWatchResponse as response } from './scripted-etcd.testing.js';
import { type WatchEnd, watchOnce } from './watch-stream.js';

/** A watch from a revision on, whose server says what the test says. */
function watch(from: number, currentRevision: () => Promise<number>) {
  const told: number[] = [];
  const stop = new AbortController();
  let say: ((message: Buffer) => void) | undefined;
  let end: WatchEnd | undefined;
  const client = createScriptedClient(stream => {
    say = stream.say;
  });
  const request = {
    range: toRangeBelow('/mooring/'),
    stem: '/mooring/',
    from,
    clusterId: CLUSTER,
    currentRevision,
    livenessMs: 1_000,
  };
  const handler = {
    onCreated: () => undefined,
    onEvents: (events: readonly { readonly revision: number }[]) => void told.push(events[0]!.revision),
  };
  const ended = watchOnce({ client, clock: new ManualClock(), log: silentLogger }, request, handler, stop.signal).then(
    why => {
      end = why;
    },
  );
  const turn = () => new Promise(resolve => setImmediate(resolve));
  return {
    told,
    end: () => end,
    say: async (message: Buffer) => {
      await turn();
      say!(message);
      await turn();
    },
    stop: () => {
      stop.abort();
      return ended;
    },
  };
}

describe('watch of etcd', () => {
  it('drops revisions that etcd replays after it was sent a snapshot', async () => {
    const { say, told, stop } = watch(5, async () => 9);
    await say(response(9, { created: true }));
    await say(response(9, { events: [5, 7, 9] }));
    await say(response(11, { events: [5, 7, 9, 11] }));
    await say(response(11, { events: [7, 11] }));
    await say(response(12, { events: [12] }));
    expect(told).to.deep.equal([5, 7, 9, 11, 12]);
    await stop();
  });

  it('continues with a member that lags behind the others', async () => {
    const { say, told, end, stop } = watch(10, async () => 14);
    await say(response(7, { created: true }));
    await say(response(12, { events: [12] }));
    expect(end()).to.equal(undefined);
    expect(told).to.deep.equal([12]);
    await stop();
  });

  it('ends when an older state of the store was restored', async () => {
    const { say, end } = watch(10, async () => 7);
    await say(response(7, { created: true }));
    expect(end()).to.equal('discontinued');
  });

  it('ends when another cluster has taken the place of the one that it began with, and tells nothing of it', async () => {
    const { say, told, end } = watch(5, async () => 9);
    await say(response(9, { created: true, clusterId: '8' }));
    expect(end()).to.equal('discontinued');
    await say(response(9, { events: [5, 7, 9], clusterId: '8' }));
    expect(told).to.deep.equal([]);
  });

  it('ends, to be retried, when it is unknown whether an older state was restored', async () => {
    const { say, end } = watch(10, () => Promise.reject(new Error('no quorum')));
    await say(response(7, { created: true }));
    expect(end()).to.equal('lost');
  });
});
