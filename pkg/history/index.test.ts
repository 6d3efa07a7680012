import { expect } from 'chai';

import type { ArchivedRevision } from '../../crds/archive/index.js';
import type { Deployment, StoredDeployment } from '../../crds/deployment/index.js';
import { cacheScope, keys } from '../../crds/keys/index.js';
import { hashSpec } from '../../crds/meta/index.js';
import { systemClock } from '../clock/index.js';
import { silentLogger } from '../log/index.js';
import { MemoryStore, value, WatchCache } from '../store/index.js';
import {
  buildRevision,
  findHistory,
  findRevision,
  listRevisions,
  nextMetadata,
  putFormerDeployment,
  readRevision,
  toRollbackSpec,
} from './index.js';

const T = 't1';
const AT = Date.parse('2030-01-01T00:00:00.000Z');
const spec = (replicas: number, secretsVersion = 0): Deployment => ({
  kind: 'Deployment',
  name: 'web',
  image: 'shop/web:1',
  replicas,
  secretsVersion,
});

describe('history of deployments', () => {
  let store: MemoryStore;
  let cache: WatchCache;
  const feeding = new AbortController();
  before(async () => {
    store = new MemoryStore({ clock: systemClock });
    cache = new WatchCache({ store, clock: systemClock, log: silentLogger, ...cacheScope });
    void cache.run(feeding.signal, { history: 10 });
    await cache.ready;
  });
  after(() => feeding.abort());

  const cause = { change: 'update', by: 'tok', operation: 'req', alterations: [] } as const;
  const first = (uid: string, generation: number) => (specHash: string) => ({
    tenant: T,
    uid,
    generation,
    createdAt: '',
    updatedAt: '',
    specHash,
  });

  /** Stores revisions of one deployment from a number on, and removes it again. */
  const live = async (uid: string, from: number, count: number) => {
    let built = buildRevision(spec(from), first(uid, from), cause);
    for (let at = from; ; at++) {
      const present = await store.get(keys.deployment(T, 'web'));
      const guards = [{ key: keys.deployment(T, 'web'), at: present?.revision ?? 0 }];
      await store.commit({ guards, puts: built.puts, deletes: [] });
      if (at === from + count - 1) break;
      built = buildRevision(spec(at + 1), hash => nextMetadata(built.metadata, hash, AT), cause);
    }
    await cache.barrier();
  };
  const remove = async () => {
    const entry = cache.get(keys.deployment(T, 'web'))!;
    const put = putFormerDeployment(cache, value<StoredDeployment>(entry));
    await store.commit({ guards: [{ key: entry.key, at: entry.revision }], puts: [put], deletes: [entry.key] });
    await cache.barrier();
  };
  const numbers = async (limit?: number) => {
    const found = await listRevisions(store, T, findHistory(cache, T, 'web')!, limit);
    return found.map(({ revision }) => revision);
  };

  it('of a revision is written with its record: same hash, the cause, metadata first', () => {
    const { metadata, bytes, puts } = buildRevision(spec(1), first('dep_x', 7), {
      ...cause,
      change: 'rollback',
      reason: 'progress_deadline_exceeded',
      fromRevision: 3,
    });
    expect(metadata).to.include({ generation: 7, specHash: hashSpec(spec(1)) });
    expect(bytes.toString()).to.match(/^\{"metadata":\{"tenant":"t1","uid":"dep_x"/);
    expect(puts.map(({ key }) => key)).to.deep.equal(['deployments/t1/web', 'archives/t1/dep_x/0000000007']);
    const { spec: archived, ...entry } = JSON.parse(puts[1].bytes.toString()) as ArchivedRevision;
    expect(archived).to.deep.equal(spec(1));
    expect(entry).to.deep.equal({
      revision: 7,
      at: '',
      by: 'tok',
      operation: 'req',
      change: 'rollback',
      reason: 'progress_deadline_exceeded',
      fromRevision: 3,
      specHash: hashSpec(spec(1)),
      secretsVersion: 0,
      alterations: [],
    });
  });

  it('never lowers secretsVersion when a revision is brought back', () => {
    expect(toRollbackSpec(spec(1, 4), spec(9, 2))).to.deep.equal(spec(1, 4));
    expect(toRollbackSpec(spec(1, 0), spec(9, 2))).to.deep.equal(spec(1, 2));
  });

  it('brings only the containers of a revision back, and the node that it names', () => {
    const rollout = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '1m', autoRollback: true };
    const current: Deployment = { ...spec(3), image: 'shop/web:2', command: ['new'], labels: { team: 'now' }, rollout };
    const archived: Deployment = { ...spec(1), nodeId: 'node_1', user: '1', rollout: { ...rollout, paused: true } };
    const { command: _, ...rest } = current;
    expect(toRollbackSpec(current, archived)).to.deep.equal({
      ...rest,
      image: 'shop/web:1',
      nodeId: 'node_1',
      user: '1',
    });
  });

  it('[2.8.14] of a name goes on across its deletion, without gaps, and is found afterwards', async () => {
    expect(findHistory(cache, T, 'web')).to.equal(undefined);
    await live('dep_a', 1, 30);
    await remove();
    expect(await numbers()).to.deep.equal(Array.from({ length: 30 }, (_, at) => at + 1));
    await live('dep_b', 31, 40);
    expect(await numbers()).to.deep.equal(Array.from({ length: 50 }, (_, at) => at + 21));
    expect(await numbers(3)).to.deep.equal([68, 69, 70]);
    await remove();
    const history = findHistory(cache, T, 'web')!;
    expect(history.current).to.equal(undefined);
    expect(history.deployments.map(({ lastRevision }) => lastRevision)).to.deep.equal([30, 70]);
    expect(await numbers()).to.deep.equal(Array.from({ length: 50 }, (_, at) => at + 21));
    for (const revision of [1, 30, 31, 70]) {
      expect((await findRevision(store, T, history, revision))?.spec.replicas).to.equal(revision);
    }
    expect(await findRevision(store, T, history, 71)).to.equal(undefined);
    expect(await readRevision(store, T, 'dep_a', 31)).to.equal(undefined);
  });
});
