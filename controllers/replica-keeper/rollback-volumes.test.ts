import { expect } from 'chai';

import { type StoredDeployment, toSpec } from '../../crds/deployment/index.js';
import { cacheScope, keys } from '../../crds/keys/index.js';
import { computeTemplateHash, toContainerTemplate } from '../../crds/replica/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import { toVolumeSubject } from '../../crds/volume/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import { buildRevision } from '../../pkg/history/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { encode, MemoryStore, value, WatchCache } from '../../pkg/store/index.js';
import { recordFailure } from './record-rollout.js';
import { rollout, seen, wanting } from './replicas.testing.js';

const T = 't1';
const ID = `vol_${'1'.repeat(26)}`;
const AT = '2030-01-01T00:00:00.000Z';
const volumes = [{ volumeId: ID, type: 'volume', mountPath: '/d', readOnly: false, subPath: '' }] as const;
const first = wanting({ image: 'web:1', replicas: 1, rollout, volumes });
const second = wanting({ replicas: 1, rollout });
const meta = (uid: string) => ({ ...second.metadata, uid });
const migrate = { metadata: meta('job_1'), kind: 'Job', name: 'migrate', image: 'web:1', volumes };
const volume = { metadata: meta(ID), id: ID, name: 'data', class: 'ephemeral', type: 'volume', sizeBytes: 2 ** 20 };
const left = { ...seen(0).replica, deployment: 'former', template: toContainerTemplate(first) };
const turn = keys.conflict(T, toVolumeSubject(ID));

describe('a rollback by itself to what writes to a volume', () => {
  let store: MemoryStore;
  let cache: WatchCache;
  let feeding: AbortController;
  beforeEach(async () => {
    feeding = new AbortController();
    store = new MemoryStore({ clock: systemClock });
    cache = new WatchCache({ store, clock: systemClock, log: silentLogger, ...cacheScope });
    void cache.run(feeding.signal, { history: 10 });
    await cache.ready;
    await put(keys.volume(T, ID), volume);
  });
  afterEach(() => feeding.abort());

  const put = async (key: string, document: object) => {
    const at = (await store.get(key))?.revision ?? 0;
    await store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    await cache.barrier();
  };
  /** What is to be stored when the second revision, which mounts nothing, has failed. */
  const fail = async (deployment: StoredDeployment = second) => {
    const archived = buildRevision(toSpec(first), specHash => ({ ...first.metadata, generation: 1, specHash }), {
      change: 'create',
      by: 'tok',
      operation: 'op-1',
      alterations: [],
    });
    for (const { key, bytes } of archived.puts) await put(key, JSON.parse(bytes.toString()));
    const key = keys.deployment(T, 'web');
    await put(key, deployment);
    const completed = { revision: 1, templateHash: computeTemplateHash(first), contentHash: 'c', at: AT };
    const record: RolloutRecord = { uid: 'dep_1', completed };
    const unchanged = { key, at: cache.get(key)!.revision };
    const env = {
      cache,
      reads: store,
      clock: systemClock,
      events: { put: async ({ type }: { type: string }) => ({ key: `events/t1/${type}`, bytes: encode({ type }) }) },
      lease: async (seconds: number) => (await store.grant(seconds)).id,
    } as never as LoopEnv;
    const given = { revision: 2, at: AT, reason: 'unhealthy', message: 'it made no progress' } as const;
    return recordFailure({ deployment, unchanged, stored: undefined, record }, given, env);
  };
  const findMessage = async (deployment?: StoredDeployment) => {
    expect(await store.commit(await fail(deployment))).to.include({ stored: true });
    return value<RolloutRecord>((await store.get(keys.rollout(T, 'web')))!).failed?.message;
  };
  const readImage = async () => value<StoredDeployment>((await store.get(keys.deployment(T, 'web')))!).image;

  const writers: readonly (readonly [who: string, key: string, document: object, message: RegExp])[] = [
    [
      'a deployment',
      keys.deployment(T, 'other'),
      { ...first, metadata: meta('dep_2'), name: 'other' },
      /to which other w/,
    ],
    ['a job that has not ended', keys.job(T, 'migrate'), migrate, /volume data, to which \S*migrate writes by now/],
    ['a container that is left', keys.replica(T, 'former', 0), left, /to which former writes by now/],
  ];
  for (const [who, key, document, message] of writers) {
    it(`is not made while ${who} writes to it`, async () => {
      await put(key, document);
      expect(await findMessage()).to.match(message);
      expect(await readImage()).to.equal('web:2');
    });
  }

  it('is made once the job has ended', async () => {
    await put(keys.job(T, 'migrate'), migrate);
    await put(keys.jobStatus(T, 'migrate'), { uid: 'job_1', phase: 'Succeeded', finishedAt: AT, attempts: [] });
    await findMessage();
    expect(await readImage()).to.equal('web:1');
  });

  it('is not made for more replicas than one', async () => {
    expect(await findMessage({ ...second, replicas: 3 })).to.match(/which one replica may do, and 3 are wanted by now/);
    expect(await readImage()).to.equal('web:2');
  });

  it('is judged again when another write mounts or deletes the volume at the same moment, and makes that be judged again', async () => {
    const change = await fail();
    await put(turn, { by: 'the API' });
    expect(await store.commit(change)).to.include({ stored: false });
    const at = (await store.get(turn))!.revision;
    await findMessage();
    const entry = await store.get(turn);
    expect(entry!.revision).to.be.greaterThan(at);
  });
});
