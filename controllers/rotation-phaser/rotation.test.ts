import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { ranges } from '../../crds/keys/index.js';
import { itDeep } from '../../dev/testing/index.js';
import { toSecretDocument } from '../../pkg/secrets/index.js';
import { destroyVersion } from '../../pkg/secrets/destroy-version.testing.js';
import { type Store, value } from '../../pkg/store/index.js';
import { type Life, createMortalStore, path, PHASES, RotationCluster } from './rotation-cluster.testing.js';

describe('a rotation', () => {
  let cluster: RotationCluster;
  let stop: AbortController;

  const begin = async (store?: (store: Store) => Store) => {
    cluster = new RotationCluster();
    stop = cluster.controllers('one', undefined, store?.(cluster.store));
    await cluster.begin();
  };
  afterEach(async () => {
    stop.abort();
    cluster.close();
    await cluster.clock.pass(30_000);
  });

  it('[2.2.25 3.16 3.18 4.10] recreates every consumer once and destroys the old version last', async () => {
    await begin();
    await cluster.reach('stage');
    expect(await cluster.state()).to.deep.equal({ last: 2, current: 1, pending: 2 });
    expect(new Set(await cluster.versions())).to.deep.equal(new Set(['0:1']));

    await cluster.reach('promote');
    expect(await cluster.state()).to.deep.equal({ last: 2, current: 2, previous: 1 });
    expect(await cluster.versions()).to.deep.equal(['1:2', '1:2', '1:2']);
    await cluster.reach('verify');
    await cluster.reach('retire');
    expect(await cluster.state()).to.deep.equal({ last: 2, current: 2 });
    expect(await cluster.raised()).to.deep.equal(['web 1 1', 'worker 1 1']);
    expect(cluster.violations).to.deep.equal([]);
    const events = await cluster.all<StoredEvent>(ranges.events);
    const told = events
      .filter(({ subject }) => subject.kind === 'Secret')
      .map(({ type, reason }) => `${type} ${reason}`);
    expect(told).to.deep.equal(
      ['stage', 'promote', 'verify', 'retire'].map(phase => `secret.rotation_advanced ${phase}`),
    );
  });

  it('waits for a container that is not healthy, names it, and can be aborted', async () => {
    await begin();
    await cluster.reach('stage');
    cluster.health.set('worker', 'unhealthy');
    await cluster.ask('promote');
    await cluster.clock.pass(30_000);
    const halted = await cluster.progress();
    expect(halted).to.include({ phase: 'promote', holds: false });
    expect(halted?.waitsFor).to.contain('of worker');
    expect((await cluster.state())?.previous).to.equal(1);

    cluster.health.delete('worker');
    await cluster.reach('abort');
    await cluster.clock.pass(30_000);
    expect(await cluster.state()).to.deep.equal({ last: 2, current: 1 });
    expect(await cluster.versions()).to.deep.equal(['2:1', '2:1', '2:1']);
    expect(await cluster.raised()).to.deep.equal(['web 2 2', 'worker 2 2']);
    expect(cluster.violations).to.deep.equal([]);
  });

  it('continues with the values that the caller stages, whenever they arrive', async () => {
    await begin();
    await cluster.ask('stage', { by: 'caller' });
    await cluster.clock.pass(5_000);
    expect((await cluster.progress())?.waitsFor).to.contain('values');
    await cluster.secrets.write(path, { document: toSecretDocument({ password: 'new' }), after: 1, as: 'pending' });
    await cluster.clock.pass(2_500);
    expect(await cluster.progress()).to.include({ phase: 'stage', holds: true });
  });

  it('waits while the secrets store is unavailable, and continues afterwards', async () => {
    await begin();
    cluster.secretsAreAway = true;
    await cluster.ask('stage');
    await cluster.clock.pass(30_000);
    expect(await cluster.progress()).to.include({
      holds: false,
      waitsFor: 'the secrets store, which cannot be reached',
    });
    cluster.secretsAreAway = false;
    await cluster.clock.pass(3_000);
    expect(await cluster.progress()).to.include({ phase: 'stage', holds: true });
    expect(await cluster.state()).to.deep.equal({ last: 2, current: 1, pending: 2 });
  });

  it('reports a new version that is too large for the secrets store, and can be aborted', async () => {
    await begin();
    const keys = Array.from({ length: 64 }, (_, position) => `key_${position}`);
    const generation = { keys, by: 'bytes', bytes: 32, encoding: 'hex' } as const;
    await cluster.ask('stage', { by: 'platform', generation });
    await cluster.clock.pass(5_000);
    expect((await cluster.progress())?.waitsFor).to.contain('refuses the new version');
    await cluster.reach('abort');
    expect(await cluster.state()).to.deep.equal({ last: 1, current: 1 });
  });

  it('reports a current version that cannot be decrypted, and continues when it can', async () => {
    await begin();
    const [record] = (await cluster.store.list(ranges.secretVersions)).entries;
    await cluster.put(record!.key, {});
    await cluster.ask('stage');
    await cluster.clock.pass(5_000);
    expect((await cluster.progress())?.waitsFor).to.contain('cannot be decrypted');
    await cluster.put(record!.key, value(record!));
    await cluster.clock.pass(3_000);
    expect(await cluster.progress()).to.include({ phase: 'stage', holds: true });
  });

  it('is aborted without recreating containers when it was only staged', async () => {
    await begin();
    await cluster.reach('stage');
    await cluster.reach('abort');
    expect(await cluster.state()).to.deep.equal({ last: 2, current: 1 });
    expect(await cluster.raised()).to.deep.equal(['web 0 0', 'worker 0 0']);
  });

  it('reports values that were never sent, and can be aborted', async () => {
    await begin();
    await cluster.ask('stage', { by: 'caller' });
    await cluster.clock.pass(120_000);
    expect(await cluster.progress()).to.include({ phase: 'stage', holds: false });
    expect((await cluster.progress())?.waitsFor).to.contain('values');
    await cluster.reach('abort');
    expect(await cluster.state()).to.deep.equal({ last: 1, current: 1 });
    expect(await cluster.raised()).to.deep.equal(['web 0 0', 'worker 0 0']);
  });

  it('reports a version number that another write has taken, keeps that version, and can be aborted', async () => {
    await begin();
    cluster.secretsAreAway = true;
    await cluster.ask('stage');
    await cluster.secrets.write(path, { document: toSecretDocument({ password: 'won' }), after: 1, as: 'current' });
    cluster.secretsAreAway = false;
    await cluster.clock.pass(5_000);
    expect((await cluster.progress())?.waitsFor).to.contain('another write');
    await cluster.reach('abort');
    expect(await cluster.state()).to.deep.equal({ last: 2, current: 2, previous: 1 });
  });

  it('reports a staged version that was destroyed, and can be aborted', async () => {
    await begin();
    await cluster.reach('stage');
    await destroyVersion(cluster.secrets, path, 2);
    await cluster.ask('promote');
    await cluster.clock.pass(5_000);
    expect((await cluster.progress())?.waitsFor).to.contain('destroyed outside');
    await cluster.reach('abort');
    expect(await cluster.state()).to.deep.equal({ last: 2, current: 1 });
    expect(await cluster.raised()).to.deep.equal(['web 0 0', 'worker 0 0']);
  });

  for (const phase of ['stage', 'promote', 'verify'] as const) {
    it(`continues for the others when a consumer is deleted in ${phase}`, async () => {
      await begin();
      for (const reached of PHASES.slice(0, PHASES.indexOf(phase) + 1)) await cluster.reach(reached);
      await cluster.remove('web');
      for (const next of PHASES.slice(PHASES.indexOf(phase) + 1)) await cluster.reach(next);
      expect(await cluster.state()).to.deep.equal({ last: 2, current: 2 });
      expect(await cluster.versions()).to.deep.equal(['1:2']);
      expect(cluster.violations).to.deep.equal([]);
    });

    it(`can be aborted when a consumer is deleted in ${phase}`, async () => {
      await begin();
      for (const reached of PHASES.slice(0, PHASES.indexOf(phase) + 1)) await cluster.reach(reached);
      await cluster.remove('web');
      await cluster.reach('abort');
      await cluster.clock.pass(30_000);
      expect(await cluster.state()).to.deep.equal({ last: 2, current: 1 });
      expect((await cluster.versions()).map(each => each.split(':')[1])).to.deep.equal(['1']);
      expect(cluster.violations).to.deep.equal([]);
    });

    it(`aborts itself when its last consumer is deleted in ${phase}`, async () => {
      await begin();
      for (const reached of PHASES.slice(0, PHASES.indexOf(phase) + 1)) await cluster.reach(reached);
      await cluster.remove('web');
      await cluster.remove('worker');
      await cluster.clock.pass(60_000);
      expect(await cluster.progress()).to.include({ phase: 'abort', holds: true });
      expect(await cluster.state()).to.deep.equal({ last: 2, current: 1 });
      expect(cluster.violations).to.deep.equal([]);
    });
  }

  for (const isLastMade of [false, true]) {
    itDeep(`survives a kill at every change${isLastMade ? ', made without an answer' : ''}`, async function () {
      this.timeout(120_000);
      let deaths = 0;
      for (let changes = 0; ; changes++) {
        const life: Life = { left: Number.POSITIVE_INFINITY, isLastMade };
        await begin(store => createMortalStore(store, life));
        life.left = changes;
        let isReplaced = false;
        const replace = () => {
          if (life.left >= 0 || isReplaced) return;
          isReplaced = true;
          stop = cluster.controllers('second');
        };
        for (const phase of ['stage', 'promote', 'verify', 'retire'] as const) await cluster.reach(phase, replace);

        const told = `after ${changes} changes`;
        expect(await cluster.state(), told).to.deep.equal({ last: 2, current: 2 });
        expect(await cluster.raised(), told).to.deep.equal(['web 1 1', 'worker 1 1']);
        expect(await cluster.versions(), told).to.deep.equal(['1:2', '1:2', '1:2']);
        expect(cluster.violations, told).to.deep.equal([]);
        if (life.left >= 0) break;
        deaths++;
        cluster.close();
        stop.abort();
      }
      expect(deaths).to.be.greaterThan(20);
    });
  }
});
