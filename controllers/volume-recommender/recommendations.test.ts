import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { AdviceRecord } from '../../crds/recommendation/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import { AT, makeMetadata, TENANT, TestCluster } from '../test-cluster.testing.js';
import { makeVolume } from '../../crds/volume/volume.testing.js';

const MIB = 2 ** 20;
const SIZE = 1024 * MIB;
const HOUR_MS = 3_600_000;
const ID = `vol_${'1'.repeat(26)}`;
const GROW = `rec_${'1'.repeat(26)}_grow`;

describe('recommendations among all loops', () => {
  let cluster: TestCluster;

  beforeEach(async () => {
    cluster = new TestCluster();
    cluster.controllers('one');
    await cluster.put(keys.tenant(TENANT), { id: TENANT, name: 'shop', createdAt: AT, platform: false });
    await cluster.enrol('a');
    const volume = makeVolume(makeMetadata(ID), { class: 'ephemeral', sizeBytes: SIZE });
    await cluster.put(keys.volume(TENANT, ID), volume);
    await cluster.clock.pass(20_000);
  });
  afterEach(() => cluster.close());

  const hold = async (usedBytes: number, capacityBytes = SIZE, targetBytes = capacityBytes, message?: string) => {
    const report: VolumeReport = {
      id: ID,
      state: 'ready',
      nodeId: 'node_a',
      at: new Date(cluster.clock.now()).toISOString(),
      usedBytes,
      capacityBytes,
      targetBytes,
      ...(message !== undefined && { message }),
    };
    await cluster.put(keys.volumeReport(TENANT, ID, 'node_a'), report);
    await cluster.clock.pass(5_000);
  };
  const advice = () => cluster.get<AdviceRecord>(keys.advice(TENANT, ID));
  /** As if it had been nearly empty for so long. */
  const becomeLow = async (ms: number) => {
    const lowSince = new Date(cluster.clock.now() - ms).toISOString();
    await cluster.put(keys.advice(TENANT, ID), { ...(await advice()), lowSince });
  };
  const volume = () => cluster.get<StoredVolume>(keys.volume(TENANT, ID));
  const told = async () =>
    (await cluster.all<StoredEvent>(ranges.events))
      .filter(({ type }) => type.startsWith('recommendation.'))
      .map(({ type, reason, data }) => `${type} ${reason} ${String(data['recommendation']).replace(/^rec_1+_/, '')}`);
  const switchOn = (quotas?: Readonly<Record<string, number>>) =>
    cluster.put(keys.tenant(TENANT), {
      id: TENANT,
      name: 'shop',
      createdAt: AT,
      platform: false,
      autoGrow: true,
      ...(quotas && { quotas }),
    });

  it('are announced when they appear, change and vanish, each once', async () => {
    await hold(500 * MIB);
    expect(await told()).to.deep.equal([]);
    await hold(850 * MIB);
    expect((await advice())?.told).to.deep.equal([{ id: GROW, type: 'capacity', priority: 'high' }]);
    await hold(860 * MIB);
    await hold(950 * MIB);
    await hold(500 * MIB);
    expect(await told()).to.deep.equal([
      'recommendation.appeared recommendation_appeared grow',
      'recommendation.appeared recommendation_changed grow',
      'recommendation.vanished recommendation_vanished grow',
    ]);
    expect(await advice()).to.equal(undefined);
  });

  it('to shrink appear after a day, although nothing happens meanwhile', async () => {
    await hold(100 * MIB);
    await becomeLow(24 * HOUR_MS - 60_000);
    await cluster.clock.pass(10_000);
    expect(await told()).to.deep.equal([]);
    await cluster.clock.pass(60_000);
    expect(await told()).to.deep.equal(['recommendation.appeared recommendation_appeared shrink']);
  });

  it('vanish with their volume, and a damaged record is written anew', async () => {
    await hold(850 * MIB);
    await cluster.put(keys.advice(TENANT, ID), { told: 'nonsense' });
    await cluster.clock.pass(5_000);
    expect((await advice())?.told.map(({ id }) => id)).to.deep.equal([GROW]);
    await cluster.put(keys.volume(TENANT, ID), {
      ...(await volume())!,
      metadata: { ...(await volume())!.metadata, deletedAt: AT },
    });
    await cluster.clock.pass(5_000);
    expect((await told()).at(-1)).to.equal('recommendation.vanished recommendation_vanished grow');
    expect(await advice()).to.equal(undefined);
  });

  it('to grow are applied by themselves for a tenant that has switched that on, and for no other', async () => {
    await hold(950 * MIB);
    await cluster.clock.pass(60_000);
    expect((await volume())?.sizeBytes).to.equal(SIZE);
    await switchOn();
    await cluster.clock.pass(60_000);
    expect(await volume()).to.include({ sizeBytes: 1600 * MIB });
    expect((await volume())?.metadata.generation).to.equal(2);
    expect((await told()).at(-1)).to.equal('recommendation.applied recommendation_auto_applied grow');

    await hold(950 * MIB, SIZE, SIZE);
    await cluster.clock.pass(60_000);
    expect((await volume())?.sizeBytes, 'while its size is being changed').to.equal(1600 * MIB);
    await hold(950 * MIB, 1600 * MIB);
    await cluster.clock.pass(60_000);
    expect((await volume())?.sizeBytes).to.equal(1600 * MIB);
    expect(await cluster.get<VolumeStatus>(keys.volumeStatus(TENANT, ID))).to.include({ phase: 'Ready' });
    expect((await told()).at(-1)).to.equal('recommendation.vanished recommendation_vanished grow');
  });

  it('to grow are not applied again for an hour when the node refused it, which leaves the volume usable', async () => {
    await switchOn();
    await hold(950 * MIB);
    await cluster.clock.pass(10_000);
    expect((await volume())?.sizeBytes).to.equal(1600 * MIB);
    await hold(950 * MIB, SIZE, 1600 * MIB, 'no space is left');
    const status = await cluster.get<VolumeStatus>(keys.volumeStatus(TENANT, ID));
    expect(status).to.include({ phase: 'Ready', reason: 'volume_refused' });

    const { metadata, ...spec } = (await volume())!;
    const generation = metadata.generation + 1;
    await cluster.put(keys.volume(TENANT, ID), { ...spec, sizeBytes: SIZE, metadata: { ...metadata, generation } });
    await hold(950 * MIB);
    const count = async () => (await told()).filter(line => line.includes('recommendation_auto_applied')).length;
    for (let minute = 0; minute < 58; minute++) await cluster.clock.pass(60_000);
    expect([await count(), (await volume())?.sizeBytes]).to.deep.equal([1, SIZE]);
    for (let minute = 0; minute < 5; minute++) await cluster.clock.pass(60_000);
    expect([await count(), (await volume())?.sizeBytes]).to.deep.equal([2, 1600 * MIB]);
  });

  it('to grow are applied as soon as another volume gives back what they need of the quota', async () => {
    const other = keys.volume(TENANT, `vol_${'2'.repeat(26)}`);
    const { metadata, id: _, ...spec } = (await volume())!;
    const uid = `vol_${'2'.repeat(26)}`;
    await cluster.put(other, { ...spec, metadata: { ...metadata, uid }, id: uid, name: 'other', class: 'object' });
    await switchOn({ volumeBytes: 2 * SIZE + 100 * MIB });
    await hold(950 * MIB);
    await cluster.clock.pass(60_000);
    expect((await volume())?.sizeBytes).to.equal(SIZE);
    const { revision: at } = (await cluster.store.get(other))!;
    await cluster.store.commit({ guards: [{ key: other, at }], puts: [], deletes: [other] });
    await cluster.clock.pass(60_000);
    expect((await volume())?.sizeBytes).to.equal(1600 * MIB);
  });

  it('to grow are not applied above the quota, and none to shrink ever is', async () => {
    await switchOn({ volumeBytes: SIZE + 100 * MIB });
    await hold(950 * MIB);
    await cluster.clock.pass(60_000);
    expect((await volume())?.sizeBytes).to.equal(SIZE);
    await hold(100 * MIB);
    await becomeLow(25 * HOUR_MS);
    await cluster.clock.pass(10_000);
    expect((await advice())?.told.map(({ id }) => id.replace(/^rec_1+_/, ''))).to.deep.equal(['shrink']);
    expect((await volume())?.sizeBytes).to.equal(SIZE);
    await switchOn({ volumeBytes: 2 * SIZE });
    await hold(950 * MIB);
    await cluster.clock.pass(60_000);
    expect((await volume())?.sizeBytes).to.equal(1600 * MIB);
  });
});
