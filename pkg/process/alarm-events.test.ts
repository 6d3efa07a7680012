import { expect } from 'chai';
import sinon from 'sinon';

import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { seededRandom } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { create, MemoryStore, StoreUnavailableFault, value } from '../store/index.js';
import { AlarmEvents } from './alarm-events.js';

describe('events of alarms of the store', () => {
  const PLATFORM = 'a3b8f042-1e16-4f0a-8f0e-5d7f6f1f2f3a';
  const SHOP = 'a3b8f042-1e16-4f0a-8f0e-5d7f6f1f2f3b';
  let clock: ManualClock;
  let store: MemoryStore;

  beforeEach(async () => {
    clock = new ManualClock();
    store = new MemoryStore({ clock });
    await create(store, keys.tenant(PLATFORM), { id: PLATFORM, name: 'platform', platform: true });
    await create(store, keys.tenant(SHOP), { id: SHOP, name: 'shop', platform: false });
  });

  let processes = 0;
  const open = () => new AlarmEvents({ store, clock, random: seededRandom(++processes), eventRetentionDays: 7 });
  const told = async () => {
    const { entries } = await store.list(ranges.events);
    const events = entries.map(entry => value<StoredEvent>(entry));
    return events.map(({ type, reason, tenant }) => `${type} ${reason}${tenant === PLATFORM ? '' : ' of a tenant'}`);
  };

  it('tell each alarm and its end once, to the platform only, however many processes look', async () => {
    const [one, two] = [open(), open()];
    for (const alarms of [[], ['NOSPACE'], ['NOSPACE'], ['NOSPACE', 'CORRUPT'], ['CORRUPT'], ['CORRUPT'], []]) {
      await clock.pass(15_000);
      for (const each of [one, two, open()]) await each.announce(alarms);
    }
    const all = ['store.alarm_raised nospace', 'store.alarm_raised corrupt'];
    expect(await told()).to.deep.equal([...all, 'store.alarm_cleared nospace', 'store.alarm_cleared corrupt']);

    await clock.pass(15_000);
    await two.announce(['NOSPACE']);
    expect(await told()).to.have.length(5);
  });

  it('are stored when etcd takes data again, with the time at which the alarm was seen', async () => {
    const [one, two] = [open(), open()];
    const since = new Date(clock.now()).toISOString();
    const full = sinon.stub(store, 'commit').rejects(new StoreUnavailableFault('etcd takes no more data'));
    for (const each of [one, two]) expect(await each.announce(['NOSPACE']).catch(() => 'refused')).to.equal('refused');
    expect(await told()).to.deep.equal([]);

    full.restore();
    await clock.pass(60_000);
    for (const each of [one, two, one, two]) await each.announce([]);
    expect(await told()).to.deep.equal(['store.alarm_raised nospace', 'store.alarm_cleared nospace']);
    const [first] = (await store.list(ranges.events)).entries;
    expect(value<StoredEvent>(first!).data).to.deep.equal({ alarm: 'NOSPACE', since });
  });
});
