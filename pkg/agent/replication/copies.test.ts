import { expect } from 'chai';

import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { seededRandom } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { Bandwidth } from './bandwidth.js';
import { chooseAskMs, type CopyState, decideSync, describeCopy, findRestLook, listKept } from './copies.js';
import { isSyncName, readSyncName } from './messages.js';
import { isReplicationNews, type SeenReplication } from './replication.js';
import { makeSyncName } from './memory-driver.testing.js';

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`;

describe('copies of a volume', () => {
  const rest: CopyState = {
    newest: 'n',
    isChanged: false,
    newestAgeMs: 60_000,
    has: 'n',
    askInMs: 1_000,
    intervalMs: 5_000,
  };
  for (const [what, change, step] of [
    ['rest while nothing changes', {}, 'rest'],
    ['get a first snapshot', { newest: undefined, has: undefined }, 'fresh'],
    ['get a fresh snapshot after a change', { isChanged: true }, 'fresh'],
    ['share a snapshot that was just taken for another', { isChanged: true, has: 'm', newestAgeMs: 1_000 }, 'newest'],
    ['get a fresh one in the place of one that has grown old', { isChanged: true, has: 'm' }, 'fresh'],
    ['get the newest that they do not have', { has: 'm' }, 'newest'],
    ['get the newest when it is not known what they have', { has: undefined }, 'newest'],
    ['are asked after a restart', { askInMs: undefined }, 'newest'],
    ['are asked now and then', { askInMs: -1 }, 'newest'],
  ] as const) {
    it(what, () => expect(decideSync({ ...rest, ...change })).to.equal(step));
  }

  it('are synced in the epoch in which they said so, and told with what is under way', () => {
    const record = {
      ...makeTerm(2),
      role: 'primary',
      times: { s: at(1) },
      common: { b: { snapshot: 's', epoch: 2 }, c: { snapshot: 's', epoch: 1 } },
    } as const;
    const peer = { publicKey: '', address: 'h:1' };
    expect(describeCopy({ ...peer, nodeId: 'b' }, 2, record, { lagBytes: 0 })).to.deep.equal({
      nodeId: 'b',
      state: 'synced',
      syncedAt: at(1),
      lagBytes: 0,
    });
    const transfer = { sentBytes: 5, totalBytes: 10 };
    expect(describeCopy({ ...peer, nodeId: 'c' }, 2, record, { transfer, failure: 'why' })).to.deep.equal({
      nodeId: 'c',
      state: 'syncing',
      sentBytes: 5,
      totalBytes: 10,
      message: 'why',
    });
  });

  it('keep what is needed for the next difference, and nothing of nodes that are not named', () => {
    const record = {
      ...makeTerm(1),
      role: 'primary',
      common: { b: { snapshot: 'old', epoch: 1 }, gone: { snapshot: 'older', epoch: 1 } },
    } as const;
    const kept = listKept(record, { peers: [{ nodeId: 'b', publicKey: '' }] }, ['newest', undefined]);
    expect([...kept].sort()).to.deep.equal(['newest', 'old']);
  });

  it('are named so that they sort as they were taken', () => {
    const taken = [
      [1, 9],
      [1, 10],
      [2, 1],
      [10, 1],
    ] as const;
    const names = taken.map(([epoch, sequence]) => makeSyncName(epoch, sequence));
    expect([...names].sort()).to.deep.equal(names);
    expect(names.every(isSyncName)).to.equal(true);
    expect(readSyncName(names[1]!)).to.deep.equal({ ...makeTerm(1), sequence: 10, run: '00000000' });
    for (const name of ['divergent-1', 's-1-1', `${names[0]}\n`, `../${names[0]}`])
      expect(isSyncName(name)).to.equal(false);
  });

  const copy = { nodeId: 'b', state: 'synced', syncedAt: at(1), lagBytes: 0 } as const;
  const seen: SeenReplication = { epoch: 1, role: 'primary', copies: [copy] };
  for (const [what, change, isNews] of [
    ['nothing', {}, false],
    ['a moment that has moved a little', { copies: [{ ...copy, syncedAt: at(6) }] }, false],
    ['a moment that has moved far', { copies: [{ ...copy, syncedAt: at(21) }] }, true],
    ['a lag that has come', { copies: [{ ...copy, lagBytes: 9 }] }, true],
    [
      'a lag that is not known any more',
      { copies: [{ nodeId: 'b', state: 'synced' as const, syncedAt: at(1) }] },
      true,
    ],
    ['a message', { copies: [{ ...copy, message: 'why' }] }, true],
    ['another state', { copies: [{ ...copy, state: 'syncing' as const }] }, true],
    ['what is under way of a copy that is synced', { copies: [{ ...copy, sentBytes: 9, totalBytes: 10 }] }, false],
    ['a copy less', { copies: [] }, true],
    ['another epoch', { epoch: 2 }, true],
    ['bytes set aside', { divergent: [{ name: 'divergent-1', epoch: 1, at: at(1) }] }, true],
  ] as const) {
    it(`${isNews ? 'are' : 'are not'} news for ${what}`, () => {
      expect(isReplicationNews(seen, { ...seen, ...change })).to.equal(isNews);
    });
  }

  it('are looked at in the same moment while they rest, whenever each has come to rest', () => {
    for (const now of [0.5, 1_234.25, 4_998.7, 4_999.9]) {
      const moment = now + findRestLook(5_000, now);
      expect(moment, 'and not before it, however early a timer fires').to.be.within(5_001, 5_002);
    }
    expect(findRestLook(5_000, 5_000)).to.equal(5_001);
  });

  it('are asked about each after a time of its own, between five and ten minutes', () => {
    const random = seededRandom(7);
    const times = Array.from({ length: 200 }, () => chooseAskMs(random));
    expect(times.every(ms => ms >= 300_000 && ms < 600_000)).to.equal(true);
    expect(new Set(times.map(ms => Math.floor(ms / 5_000))).size).to.be.above(40);
  });

  it('take no more of the network than is allowed, all together', async () => {
    const clock = new ManualClock();
    const bandwidth = new Bandwidth(clock, 10_000);
    let passed = 0;
    const send = async () => {
      for (const [piece] of bandwidth.split([Buffer.alloc(30_000)])) {
        await bandwidth.take(piece!.length, new AbortController().signal);
        passed += piece!.length;
      }
    };
    const sent = Promise.all([send(), send()]);
    await clock.pass(1_000);
    expect(passed).to.be.within(9_000, 13_000);
    await clock.pass(2_000);
    expect(passed).to.be.within(29_000, 33_000);
    await clock.pass(10_000);
    await sent;
    expect(passed).to.equal(60_000);
  });
});
