import { expect } from 'chai';

import { until } from '../../../dev/testing/index.js';
import { keys } from '../../../crds/keys/index.js';
import { encode } from '../documents.js';
import { create, remove } from '../index.js';
import { EtcdLab } from './etcd-lab.testing.js';

const QUOTA_BYTES = 4 << 20;

describe('members of etcd', () => {
  let lab: EtcdLab;

  before(async () => {
    lab = await EtcdLab.start([`--quota-backend-bytes=${QUOTA_BYTES}`]);
  });
  after(() => lab.stop());

  it('each says how large its file is, gives free room back when told to, and takes its alarm back', async () => {
    const store = lab.direct();
    const text = 'x'.repeat(256 << 10);
    for (let n = 0; n < 8; n++) await create(store, `large/${n}`, { text });
    for (let n = 0; n < 8; n++) await remove(store, (await store.get(`large/${n}`))!);
    await store.compact(await store.revision());
    // etcd counts what is free with a write, as soon as that stands in its file.
    const [before] = await until('the free room to be counted', async () => {
      await store.putUncounted(
        { key: keys.barrier(), bytes: encode({}) },
        (await store.get(keys.barrier()))?.revision ?? 0,
      );
      const members = await store.members();
      return members.every(({ databaseBytes, usedBytes }) => usedBytes < databaseBytes / 2) && members;
    });
    expect(before).to.deep.include({ name: 'mooring', endpoint: lab.etcd.endpoint, isLeader: true, isReady: true });
    await store.defragment(before!);
    const [after] = await store.members();
    expect(after!.databaseBytes).to.be.lessThan(before!.databaseBytes / 2);
    expect(await store.health()).to.deep.include({ databaseBytes: after!.databaseBytes, alarms: [] });
  });

  it('take a put that is not counted under the alarm, once, until the alarm is taken back', async () => {
    const store = lab.direct();
    const text = 'x'.repeat(1 << 20);
    let isFull = false;
    for (let n = 0; !isFull; n++)
      isFull = await create(store, `full/${n}`, { text }).then(
        () => false,
        () => true,
      );
    await until('the alarm', async () => (await store.health()).alarms.includes('NOSPACE'));

    const put = { key: 'told', bytes: encode({ n: 1 }) };
    const revision = await store.putUncounted(put, 0);
    expect(revision).to.be.a('number');
    expect(await store.putUncounted(put, 0), 'with a guard that does not hold').to.equal(undefined);
    expect((await store.get('told'))?.revision).to.equal(revision);

    await store.disarm();
    expect((await store.health()).alarms).to.deep.equal([]);
  });
});
