import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { seededRandom } from '../../pkg/clock/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { EventLeases, EventWriter } from '../../pkg/events/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { Candidate } from '../../pkg/placement/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { encode, MemoryStore, type Revision, value, WatchCache } from '../../pkg/store/index.js';
import { buildPlacements, guardAsRead } from './changes.js';
import type { Assignment } from './decide.js';

const TENANT = 't1';
const AT = '2030-01-01T00:00:00.000Z';

const replica = (slot: number): Replica => ({
  uid: `r${slot}`,
  tenant: TENANT,
  deployment: 'web',
  deploymentUid: 'dep_1',
  slot,
  generation: 1,
  templateHash: 'h',
  template: { image: 'web:1', secretsVersion: 0 },
  createdAt: AT,
});

const node = { id: 'node_1', name: 'n1' } as Candidate;

describe('changes of the scheduler', () => {
  const clock = new ManualClock();
  const random = seededRandom(1);
  let store: MemoryStore;
  let env: LoopEnv;
  let revision: Revision;

  beforeEach(async () => {
    store = new MemoryStore({ clock });
    const cache = new WatchCache({ store, clock, log: silentLogger });
    void cache.run(new AbortController().signal);
    const events = new EventWriter(new EventLeases(store, clock, 7), clock, random);
    const unused = () => Promise.reject(new Error('not used'));
    env = {
      clock,
      random,
      cache,
      reads: store,
      log: silentLogger,
      events,
      commit: unused,
      lease: unused,
      fence: { key: 'leaders/scheduler', created: 1 },
    };
    const verdict = await store.commit({
      guards: [0, 1].map(slot => ({ key: keys.replica(TENANT, 'web', slot), at: 0 })),
      puts: [
        ...[0, 1].map(slot => ({ key: keys.replica(TENANT, 'web', slot), bytes: encode(replica(slot)) })),
        { key: keys.deployment(TENANT, 'web'), bytes: encode({}) },
      ],
      deletes: [],
    });
    revision = verdict.stored ? verdict.revision : 0;
    await cache.barrier();
  });

  const place = (slot: number, wantsPort: boolean) => {
    const seen = { replica: replica(slot), revision, report: undefined, node: 'nowhere', misplaced: false } as const;
    const assignment: Assignment = {
      seen,
      node,
      ...(wantsPort && { portGuard: guardAsRead(keys.portConflict(TENANT, node.id), env.cache) }),
    };
    const same = { key: keys.deployment(TENANT, 'web'), created: revision };
    const quotas = guardAsRead(keys.tenant(TENANT), env.cache);
    return buildPlacements([assignment], { named: { tenant: TENANT, name: 'web' }, uid: 'dep_1', same, quotas }, env);
  };

  const readNodeId = async (slot: number) =>
    value<Replica>((await store.get(keys.replica(TENANT, 'web', slot)))!).nodeId;

  it('give a replica its node and announce it in the same transaction', async () => {
    expect((await store.commit(await place(0, false))).stored).to.equal(true);

    expect(await readNodeId(0)).to.equal('node_1');
    expect((await store.list('events/')).entries).to.have.length(1);
  });

  it('cannot both be made for host ports when they were decided on one view, in whatever order they arrive', async () => {
    const [late, early] = [await place(1, true), await place(0, true)];

    expect((await store.commit(early)).stored).to.equal(true);
    expect((await store.commit(late)).stored).to.equal(false);
    expect(await readNodeId(1)).to.equal(undefined);
  });

  it('[3.31] can both be made without host ports: requests reserve nothing', async () => {
    const [late, early] = [await place(1, false), await place(0, false)];

    expect((await store.commit(early)).stored).to.equal(true);
    expect((await store.commit(late)).stored).to.equal(true);
  });

  it('are refused when the deployment is another by now', async () => {
    const change = await place(0, false);
    const key = keys.deployment(TENANT, 'web');
    await store.commit({ guards: [{ key, at: revision }], puts: [], deletes: [key] });
    await store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode({}) }], deletes: [] });

    expect((await store.commit(change)).stored).to.equal(false);
  });
});
