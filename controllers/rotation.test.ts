import { expect } from 'chai';

import type { StoredDeployment } from '../crds/deployment/index.js';
import type { StoredEvent } from '../crds/event/index.js';
import { keys, ranges } from '../crds/keys/index.js';
import type { Replica } from '../crds/replica/index.js';
import type { Report } from '../crds/report/index.js';
import type { AskedRotation, RotationProgress } from '../crds/rotation/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { credentialPath, documentOf } from '../pkg/secrets/index.js';
import { type Store, WatchCache } from '../pkg/store/index.js';
import { deployment, metadata, TENANT, World } from './world.testing.js';

const PATH = 'deployments/web-db';
const path = credentialPath(TENANT, PATH);

/** How many more changes a process makes before it dies, and whether the last of them is made without an answer. */
interface Life {
  left: number;
  readonly isLastMade: boolean;
}

/** The store as a process sees it that dies: from one change on, nothing is ever answered. */
function mortal(store: Store, life: Life): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => {
        if (name === 'commit') life.left--;
        const isDead = life.left < 0;
        const isMade = !isDead || (name === 'commit' && life.left === -1 && life.isLastMade);
        const answer: unknown = isMade ? member.apply(target, given) : undefined;
        return isDead ? new Promise(() => undefined) : answer;
      };
    },
  });
}

/** Two deployments that share a credential, somebody who asks for phases, and an onlooker. */
class RotationWorld extends World {
  /** Running containers with a version that was gone. */
  readonly violations: string[] = [];
  readonly #end = new AbortController();

  async begin(): Promise<void> {
    await this.enrol('n1');
    await this.secrets.write(path, { document: documentOf({ user: 'u', password: 'p' }), after: 0, as: 'current' });
    const secrets = [{ name: 'DB', vault_path: PATH, anchor: 'process', rotation: 'restart' }] as const;
    await this.put(keys.deployment(TENANT, 'web'), deployment({ secrets }));
    const worker = { metadata: metadata('dep_2'), name: 'worker', replicas: 1, secrets };
    await this.put(keys.deployment(TENANT, 'worker'), deployment(worker));
    const cache = new WatchCache({ store: this.store, clock: this.clock, log: silentLogger });
    cache.subscribe(({ key }) => void (key.startsWith(ranges.secrets) && this.#lookAround()));
    void cache.run(this.#end.signal);
    await this.clock.pass(20_000);
  }

  async ask(phase: AskedRotation['phase'], material: AskedRotation['material'] = { by: 'platform' }): Promise<void> {
    const key = keys.rotation(TENANT, 'web-db');
    const askedAt = new Date(this.clock.now()).toISOString();
    const before = await this.get<AskedRotation>(key);
    const fresh = {
      id: 'rot_1',
      path: PATH,
      from: 1,
      to: 2,
      material,
      deployment: 'web',
      by: 'me',
    };
    await this.put(key, { ...fresh, ...before, phase, askedAt });
  }

  progress(): Promise<RotationProgress | undefined> {
    return this.get(keys.rotationProgress(TENANT, 'web-db'));
  }

  /** Asks for a phase and waits until it holds. `meanwhile` is told of every second. */
  async reach(phase: AskedRotation['phase'], meanwhile: () => void = () => undefined): Promise<void> {
    await this.ask(phase);
    for (let second = 0; second < 180; second++) {
      const progress = await this.progress();
      if (progress?.phase === phase && progress.holds) return;
      await this.clock.pass(1_000);
      meanwhile();
    }
    throw new Error(`${phase} does not hold: ${JSON.stringify(await this.progress())}`);
  }

  async state() {
    const reading = await this.secrets.state(path);
    return reading.kind === 'found' ? reading.state : undefined;
  }

  async versions(): Promise<readonly string[]> {
    const replicas = await this.all<Replica>(ranges.replicas);
    return replicas.map(({ template, resolved }) => `${template.secretsVersion}:${resolved?.versions[PATH]}`);
  }

  /** The secretsVersion of each deployment, with how often a rotation has changed it. */
  async raised(): Promise<readonly string[]> {
    const archives = await this.all<{ readonly change: string; readonly spec: { readonly name: string } }>(
      ranges.archives,
    );
    const deployments = await this.all<StoredDeployment>(ranges.deployments);
    return deployments.map(({ name, secretsVersion }) => {
      const rotations = archives.filter(({ change, spec }) => change === 'rotate' && spec.name === name);
      return `${name} ${secretsVersion} ${rotations.length}`;
    });
  }

  override close(): void {
    this.#end.abort();
    super.close();
  }

  async #lookAround(): Promise<void> {
    const { current, pending, previous } = (await this.state()) ?? {};
    const replicas = new Map((await this.all<Replica>(ranges.replicas)).map(replica => [replica.uid, replica]));
    for (const { replica, state } of await this.all<Report>(ranges.reports)) {
      const version = replicas.get(replica)?.resolved?.versions[PATH];
      if (state !== 'running' || version === undefined || [current, pending, previous].includes(version)) continue;
      this.violations.push(`a container has version ${version}, which is gone`);
    }
  }
}

describe('a rotation', () => {
  let world: RotationWorld;
  let stop: AbortController;

  const begin = async (store?: (store: Store) => Store) => {
    world = new RotationWorld();
    stop = world.controllers('one', undefined, store?.(world.store));
    await world.begin();
  };
  afterEach(async () => {
    stop.abort();
    world.close();
    await world.clock.pass(30_000);
  });

  it('has every consumer made anew once, and the old version gone last', async () => {
    await begin();
    await world.reach('stage');
    expect(await world.state()).to.deep.equal({ last: 2, current: 1, pending: 2 });
    expect(new Set(await world.versions())).to.deep.equal(new Set(['0:1']));

    await world.reach('promote');
    expect(await world.state()).to.deep.equal({ last: 2, current: 2, previous: 1 });
    expect(await world.versions()).to.deep.equal(['1:2', '1:2', '1:2']);
    await world.reach('verify');
    await world.reach('retire');
    expect(await world.state()).to.deep.equal({ last: 2, current: 2 });
    expect(await world.raised()).to.deep.equal(['web 1 1', 'worker 1 1']);
    expect(world.violations).to.deep.equal([]);
    const events = await world.all<StoredEvent>(ranges.events);
    const told = events
      .filter(({ subject }) => subject.kind === 'Secret')
      .map(({ type, reason }) => `${type} ${reason}`);
    expect(told).to.deep.equal(
      ['stage', 'promote', 'verify', 'retire'].map(phase => `secret.rotation_advanced ${phase}`),
    );
  });

  it('is halted by a container that is not well, says which, and can be turned back', async () => {
    await begin();
    await world.reach('stage');
    world.health.set('worker', 'unhealthy');
    await world.ask('promote');
    await world.clock.pass(30_000);
    const halted = await world.progress();
    expect(halted).to.include({ phase: 'promote', holds: false });
    expect(halted?.waitsFor).to.contain('of worker');
    expect((await world.state())?.previous).to.equal(1);

    world.health.delete('worker');
    await world.reach('abort');
    await world.clock.pass(30_000);
    expect(await world.state()).to.deep.equal({ last: 2, current: 1 });
    expect(await world.versions()).to.deep.equal(['2:1', '2:1', '2:1']);
    expect(await world.raised()).to.deep.equal(['web 2 2', 'worker 2 2']);
    expect(world.violations).to.deep.equal([]);
  });

  it('takes up what the caller stages, whenever that comes', async () => {
    await begin();
    await world.ask('stage', { by: 'caller' });
    await world.clock.pass(5_000);
    expect((await world.progress())?.waitsFor).to.contain('values');
    await world.secrets.write(path, { document: documentOf({ password: 'new' }), after: 1, as: 'pending' });
    await world.clock.pass(2_500);
    expect(await world.progress()).to.include({ phase: 'stage', holds: true });
  });

  it('waits while the secrets store is away, and goes on when it is back', async () => {
    await begin();
    world.secretsAreAway = true;
    await world.ask('stage');
    await world.clock.pass(30_000);
    expect(await world.progress()).to.include({ holds: false, waitsFor: 'the secrets store can be reached' });
    world.secretsAreAway = false;
    await world.clock.pass(3_000);
    expect(await world.progress()).to.include({ phase: 'stage', holds: true });
    expect(await world.state()).to.deep.equal({ last: 2, current: 1, pending: 2 });
  });

  it('that was only staged is turned back without a trace in containers', async () => {
    await begin();
    await world.reach('stage');
    await world.reach('abort');
    expect(await world.state()).to.deep.equal({ last: 2, current: 1 });
    expect(await world.raised()).to.deep.equal(['web 0 0', 'worker 0 0']);
  });

  for (const isLastMade of [false, true]) {
    it(`survives a kill at every change${isLastMade ? ', made without an answer' : ''}`, async function () {
      this.timeout(120_000);
      let deaths = 0;
      for (let changes = 0; ; changes++) {
        const life: Life = { left: Number.POSITIVE_INFINITY, isLastMade };
        await begin(store => mortal(store, life));
        life.left = changes;
        let isReplaced = false;
        const replace = () => {
          if (life.left >= 0 || isReplaced) return;
          isReplaced = true;
          stop = world.controllers('second');
        };
        for (const phase of ['stage', 'promote', 'verify', 'retire'] as const) await world.reach(phase, replace);

        const told = `after ${changes} changes`;
        expect(await world.state(), told).to.deep.equal({ last: 2, current: 2 });
        expect(await world.raised(), told).to.deep.equal(['web 1 1', 'worker 1 1']);
        expect(await world.versions(), told).to.deep.equal(['1:2', '1:2', '1:2']);
        expect(world.violations, told).to.deep.equal([]);
        if (life.left >= 0) break;
        deaths++;
        world.close();
        stop.abort();
      }
      expect(deaths).to.be.greaterThan(20);
    });
  }
});
