import { expect } from 'chai';

import type { StoredEvent } from '../crds/event/index.js';
import type { StoredJob } from '../crds/job/index.js';
import { cacheScope, keys, ranges } from '../crds/keys/index.js';
import type { NodeUsage } from '../crds/node/index.js';
import type { VolumeReport, VolumeStatus } from '../crds/volume/index.js';
import { AgreedClock } from '../pkg/clock/agreed-clock.js';
import { type Clock, seededRandom } from '../pkg/clock/index.js';
import { withWallClock } from '../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../pkg/log/index.js';
import { PlatformRecord } from '../pkg/process/platform-record.js';
import { WatchCache } from '../pkg/store/index.js';
import { CanaryLab, canaryRollout } from './replica-keeper/canary-lab.testing.js';
import { AT, makeMetadata, TENANT, type TestCluster } from './test-cluster.testing.js';
import { makeVolume } from '../crds/volume/volume.testing.js';

const MINUTE = 60_000;
const DAY_MS = 86_400_000;
const ID = `vol_${'1'.repeat(26)}`;

/** What the wall clock of the controllers shows, by the true time. */
const clocks: readonly (readonly [name: string, show: (clock: Clock, begun: number) => number])[] = [
  ['is right', clock => clock.now()],
  ['is a day ahead', clock => clock.now() + DAY_MS],
  ['is a day back', clock => clock.now() - DAY_MS],
  ['stands still', (_clock, begun) => begun],
  [
    'jumps a day ahead and back again every ten seconds',
    clock => clock.now() + (clock.now() % 20_000 < 10_000 ? DAY_MS : 0),
  ],
];

for (const [name, show] of clocks) {
  describe(`controllers whose clock ${name}, beside a server whose clock is right,`, () => {
    let lab: CanaryLab;
    let cluster: TestCluster;
    let stop: AbortController;

    beforeEach(async () => {
      lab = await new CanaryLab().start();
      ({ cluster } = lab);
      lab.leader.abort();
      stop = new AbortController();
      const begun = cluster.clock.now();
      await agree('server', cluster.clock);
      const own = withWallClock(cluster.clock, () => show(cluster.clock, begun));
      const clock = await agree('controllers', own);
      cluster.controllers('one', undefined, undefined, { nodeGraceSeconds: 5, clock });
    });
    afterEach(() => {
      stop.abort();
      cluster.close();
    });

    /** The clock that a process works with, on a machine of its own. */
    const agree = async (program: string, own: Clock) => {
      const { store } = cluster;
      const clock = new AgreedClock(own, program);
      const cache = new WatchCache({ store, clock, log: silentLogger, ...cacheScope });
      const random = seededRandom(program.length);
      const parts = { store, cache, clock, random, log: silentLogger, program, node: program, ttlSeconds: 30 };
      const record = new PlatformRecord(parts);
      void record.run(stop.signal);
      void record.tried.then(() => cache.run(stop.signal));
      await cluster.clock.pass(1_000);
      return clock;
    };
    const generation = async () => (await lab.stored())?.metadata.generation;

    it('fail a rollout at its deadline, and not before', async () => {
      const { canary: _, ...rollout } = canaryRollout;
      lab.breakImage('web:2');
      await lab.apply(1, { rollout });
      await cluster.clock.pass(20_000);
      await lab.apply(2, { rollout, image: 'web:2' });
      await cluster.clock.pass(50_000);
      expect(await generation()).to.equal(2);
      await cluster.clock.pass(25_000);
      expect(await generation(), 'it was rolled back').to.equal(3);
    });

    it('promote a canary after its hold, and not before', async () => {
      await lab.begin();
      await cluster.clock.pass(4 * MINUTE);
      expect(await lab.images()).to.deep.equal(['web:1', 'web:1', 'web:2']);
      await cluster.clock.pass(90_000);
      expect(await lab.images()).to.deep.equal(['web:2', 'web:2', 'web:2']);
    });

    it('take replicas away when load has been lower for the stabilization time, and not before', async () => {
      let cpu = 120;
      const measure = () => {
        void (async () => {
          for (const name of ['n1', 'n2', 'n3']) {
            const replicas = (await lab.replicas()).filter(({ nodeId }) => nodeId === `node_${name}`);
            const at = new Date(cluster.clock.now()).toISOString();
            const used = replicas.map(({ uid }) => ({ replica: uid, cpu, memory: 0 }));
            const usage: NodeUsage = { id: `node_${name}`, at, replicas: used };
            await cluster.put(keys.usage(TENANT, name), usage);
          }
          if (!stop.signal.aborted) cluster.clock.after(5_000, measure);
        })();
      };
      measure();
      const policy = { minReplicas: 1, maxReplicas: 5, targetCpuPercent: 50, stabilization: '3m' };
      await lab.apply(1, { resources: { cpu: '100m' } });
      await cluster.put(keys.scalingPolicy(TENANT, 'web'), { metadata: makeMetadata('dep_1'), ...policy });
      await cluster.clock.pass(4 * MINUTE);
      expect(await lab.images()).to.have.length(5);
      cpu = 5;
      await cluster.clock.pass(165_000);
      expect(await lab.images()).to.have.length(5);
      await cluster.clock.pass(MINUTE);
      expect(await lab.images()).to.have.length(1);
    });

    it('start each run of a schedule at its tick, and once', async () => {
      const job: StoredJob = {
        metadata: makeMetadata('job_1'),
        kind: 'Job',
        name: 'tidy',
        image: 'tidy:1',
        backoffLimit: 0,
        schedule: '*/2 * * * *',
        timeZone: 'UTC',
        concurrencyPolicy: 'Allow',
      };
      await cluster.put(keys.job(TENANT, 'tidy'), job);
      await cluster.clock.pass(100_000);
      const made = async () => {
        const events = await cluster.all<StoredEvent>(ranges.events);
        return events.filter(({ type }) => type.startsWith('job.run')).map(event => event.type);
      };
      expect(await made()).to.deep.equal([]);
      await cluster.clock.pass(7 * MINUTE);
      expect(await made()).to.deep.equal(Array(4).fill('job.run_created'));
      const runs = (await cluster.all<StoredJob>(ranges.jobs)).flatMap(each => each.metadata.scheduledAt ?? []);
      expect(runs.toSorted()).to.deep.equal([2, 4, 6, 8].map(minute => `2030-01-01T00:0${minute}:00.000Z`));
    });

    const volume = makeVolume(makeMetadata(ID));
    const report = (nodeId: string, change: Partial<VolumeReport>) => {
      const told = { id: ID, state: 'ready', nodeId, epoch: 1, at: AT, ...change };
      return cluster.put(keys.volumeReport(TENANT, ID, nodeId), told);
    };
    const status = () => cluster.get<VolumeStatus>(keys.volumeStatus(TENANT, ID));
    /** Its primary is on node a, and a complete copy on node b. */
    const serve = async () => {
      const [lease] = [await cluster.enrol('a'), await cluster.enrol('b')];
      const copies = [{ nodeId: 'node_b', state: 'synced', syncedAt: AT }] as const;
      const known = { id: ID, phase: 'Ready', reason: 'volume_ready', message: '', primaryNode: 'node_a', epoch: 1 };
      await cluster.put(keys.volumeStatus(TENANT, ID), { ...known, servedEpoch: 1, copies, since: AT });
      await report('node_a', { role: 'primary', copies, fencesAfterSeconds: 30 });
      await report('node_b', { role: 'replica', syncedEpoch: 1, syncedAt: AT });
      await cluster.put(keys.volume(TENANT, ID), volume);
      await cluster.clock.pass(20_000);
      expect(await status()).to.include({ phase: 'Ready' });
      return lease;
    };

    it('promote a copy once the agent of a lost primary has had its time to stop what writes, and not before', async () => {
      await cluster.store.revoke(await serve());
      await cluster.clock.pass(58_000);
      expect(await status()).to.include({ phase: 'Degraded', primaryNode: 'node_a' });
      await cluster.clock.pass(20_000);
      expect(await status()).to.include({ phase: 'Promoting', primaryNode: 'node_b', epoch: 2 });
    });
  });
}
