import { setTimeout as delay } from 'node:timers/promises';

import { expect } from 'chai';
import { Etcd3 } from 'etcd3';

import { create, remove, replace, update, value } from '../documents.js';
import { OutcomeUnknownFault, StoreUnavailableFault } from '../faults.js';
import { RecordingWatch } from '../store.testing.js';
import { EtcdLab } from './etcd-lab.testing.js';

/*
 * Each protection was taken out once, and its test was seen to fail: settling before sending again (lost answers); looking
 * into history (deleted meanwhile); closing the epoch (arrives late); the deadline of a call (black hole).
 */
describe('writing to etcd through faults', () => {
  let lab: EtcdLab;

  before(async () => {
    lab = await EtcdLab.start();
  });
  afterEach(() => lab.settle());
  after(() => lab.stop());

  /** The next answer of the server is lost together with its connection. */
  function loseNextAnswer(thenMode: 'pass' | 'refuse' = 'pass'): void {
    lab.proxy.onServerData = () => {
      lab.proxy.onServerData = undefined;
      lab.proxy.mode = thenMode;
      lab.proxy.cut();
      return false;
    };
  }

  it('knows that a create was stored whose answer was lost, and stores it once', async () => {
    const store = lab.proxied();
    await store.revision();
    loseNextAnswer();
    const verdict = await create(store, 'a', { uid: 1 });

    const entry = (await store.get('a'))!;
    expect(verdict).to.deep.equal({ stored: true, revision: entry.revision });
    expect(entry.created).to.equal(entry.revision);
  });

  it('knows that a replace was stored whose answer was lost, and stores it once', async () => {
    const store = lab.proxied();
    await create(store, 'a', { n: 1 });
    const seen = (await store.get('a'))!;
    loseNextAnswer();
    const verdict = await replace(store, seen, { n: 2 });

    const entry = (await store.get('a'))!;
    expect(value(entry)).to.deep.equal({ n: 2 });
    expect(verdict).to.deep.equal({ stored: true, revision: entry.revision });
  });

  it('etcd3 alone reports the same create as refused', async () => {
    const etcd3 = new Etcd3({ hosts: lab.proxy.endpoint });
    let key = '';
    let isRefused = false;
    // What is lost may be the rest of the answer before, on a busy machine.
    for (let round = 0; round < 20 && !isRefused; round++) {
      key = `${lab.prefix}a${round}`;
      await etcd3.get(key);
      loseNextAnswer();
      const { succeeded } = await etcd3.if(key, 'Create', '==', 0).then(etcd3.put(key).value('mine')).commit();
      isRefused = !succeeded;
    }
    expect(isRefused).to.equal(true);
    expect(await etcd3.get(key)).to.equal('mine');
    etcd3.close();
  });

  it('settles every change of a batch, each on its own', async () => {
    const store = lab.proxied();
    await create(store, 'taken', {});
    loseNextAnswer();
    const verdicts = await Promise.all(['a', 'taken', 'b'].map(key => create(store, key, { uid: key })));

    expect(verdicts.map(({ stored }) => stored)).to.deep.equal([true, false, true]);
  });

  it('does not recreate an object whose answer was lost and which was deleted meanwhile', async () => {
    const [store, direct] = [lab.proxied(), lab.direct()];
    await store.revision();
    loseNextAnswer('refuse');
    const verdict = create(store, 'a', { uid: 1 });
    for (let entry = await direct.get('a'); ; entry = await direct.get('a')) {
      if (entry && (await remove(direct, entry)).stored) break;
    }
    lab.proxy.mode = 'pass';

    expect((await verdict).stored).to.equal(true);
    expect(await direct.get('a')).to.equal(undefined);
  });

  it('prevents a change that arrives late', async () => {
    const [store, direct] = [lab.proxied({ callDeadlineMs: 200 }), lab.direct()];
    await store.revision();
    lab.proxy.mode = 'hold';
    const verdict = create(store, 'a', { uid: 1 });
    await delay(100);
    lab.proxy.mode = 'pass';
    expect((await verdict).stored).to.equal(true); // sent again, and stored

    await remove(direct, (await direct.get('a'))!);
    lab.proxy.release();
    await delay(300);
    expect(await direct.get('a')).to.equal(undefined);
  });

  it('sends a change again that never arrived', async () => {
    const store = lab.proxied({ callDeadlineMs: 300 });
    await store.revision();
    lab.proxy.mode = 'blackhole';
    const verdict = create(store, 'a', { uid: 1 });
    await delay(100);
    lab.proxy.mode = 'pass';

    expect((await verdict).stored).to.equal(true);
    const entry = (await store.get('a'))!;
    expect(entry.created).to.equal(entry.revision);
  });

  it('counts correctly while the server is frozen repeatedly with changes in its buffers', async () => {
    const store = lab.direct({ callDeadlineMs: 150, settleWithinMs: 5_000 });
    await create(store, 'counter', { n: 0 });
    let counted = 0;
    const counting = (async () => {
      for (let n = 0; n < 60; n++) {
        const fault = await catchFault(update<{ n: number }>(store, 'counter', current => ({ n: current.n + 1 })));
        if (fault && !(fault instanceof StoreUnavailableFault)) throw fault;
        if (!fault) counted++;
        await delay(10);
      }
    })();
    for (let n = 0; n < 4; n++) {
      await delay(100);
      lab.etcd.freeze();
      await delay(350);
      lab.etcd.thaw();
    }
    await counting;
    expect(counted).to.be.greaterThan(20);
    expect(value((await store.get('counter'))!)).to.deep.equal({ n: counted });
  });

  it('answers within its deadline, whatever happens to the connection', async () => {
    const store = lab.proxied({ callDeadlineMs: 300, settleWithinMs: 600 });
    await create(store, 'a', {});
    const careless = new Etcd3({ hosts: lab.proxy.endpoint });
    await careless.get('warm');
    lab.proxy.mode = 'blackhole';

    let hangs = true;
    const finished = () => {
      hangs = false;
    };
    const hanging = careless.get('a').then(finished, finished);
    expect(await catchFault(store.get('a'))).to.be.instanceOf(StoreUnavailableFault);
    expect(await catchFault(create(store, 'b', {}))).to.be.instanceOf(StoreUnavailableFault);
    expect(hangs, 'a client without a deadline hangs longer').to.equal(true);

    lab.proxy.mode = 'pass';
    lab.proxy.cut();
    expect((await create(store, 'b', {})).stored).to.equal(true);
    careless.close();
    await hanging;
  });

  it('reports an unknown outcome when it cannot be settled', async () => {
    const store = lab.proxied({ callDeadlineMs: 300, settleWithinMs: 600 });
    await store.revision();
    loseNextAnswer('refuse');

    expect(await catchFault(create(store, 'a', {}))).to.be.instanceOf(OutcomeUnknownFault);
  });

  it('keeps every acknowledged write through kill -9 and a restart on the same data', async () => {
    const store = lab.direct({ callDeadlineMs: 1_000, settleWithinMs: 8_000 });
    const feed = RecordingWatch.follow(store);
    await feed.synced();
    const acknowledged: string[] = [];
    let stop = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; !stop; n++) {
        const key = `w/${writer}-${n}`;
        const verdict = await create(store, key, { key }).catch(() => undefined);
        if (verdict?.stored) acknowledged.push(key);
        else if (verdict) throw new Error(`${key} was refused although it has no other writer`);
        else await delay(20);
      }
    });
    for (let kills = 0; kills < 2; kills++) {
      await delay(400);
      await lab.etcd.kill('SIGKILL');
      await delay(200);
      await lab.etcd.restart();
      await delay(800);
    }
    stop = true;
    await Promise.all(writers);

    const stored = new Set((await store.list('w/')).entries.map(({ key }) => key));
    expect(acknowledged.filter(key => !stored.has(key))).to.deep.equal([]);
    expect(acknowledged.length).to.be.greaterThan(100);
    await feed.until(() => [...stored].every(key => feed.keys().has(key)));
    expect(feed.resets).to.equal(1);
    await feed.stop();
  });

  it('lists more than 4 MiB, which etcd3 alone does not', async () => {
    const store = lab.direct();
    // Not all at once: a busy machine would not answer the last of them in time.
    for (let wave = 0; wave < 20; wave++)
      await Promise.all(Array.from({ length: 50 }, (_, n) => create(store, `big/${wave}/${n}`, 'x'.repeat(6_000))));
    const { entries } = await store.list('big/');
    expect(entries.length).to.equal(1_000);
    expect(value(entries[0]!)).to.have.length(6_000);

    const etcd3 = new Etcd3({ hosts: lab.etcd.endpoint });
    expect(await catchFault(etcd3.getAll().prefix(lab.prefix).strings())).to.be.instanceOf(Error);
    etcd3.close();
  });

  it('uses the next member when one cannot be reached', async () => {
    const store = lab.direct({ endpoints: ['http://127.0.0.1:1', lab.proxy.endpoint, lab.etcd.endpoint] });
    expect((await create(store, 'a', {})).stored).to.equal(true);
    lab.proxy.mode = 'refuse';
    lab.proxy.cut();
    expect(value((await store.get('a'))!)).to.deep.equal({});
  });
});

async function catchFault(promise: PromiseLike<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (fault: unknown) => fault,
  );
}
