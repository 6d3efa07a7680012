import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import type { RotationRecord } from '../../crds/rotation/index.js';
import { sampleCases } from '../../dev/testing/index.js';
import { seededRandom } from '../../pkg/clock/index.js';
import { advanceIntent, settleIntent, stageMaterial, undoIntent } from '../../pkg/material/index.js';
import type { Change, Store } from '../../pkg/store/index.js';
import { createMortalStore, PATH, path, RotationCluster } from './rotation-cluster.testing.js';
import { makeDeployment, openSecretsIn, TENANT } from '../test-cluster.testing.js';

const CONFLICT = keys.conflict(TENANT, 'secret.web-db');
const LABELLED = { namespace: 'deployments', label: 'web-db' };

/** A rotation and, somewhere in its course, a request that brings material for the same credential and dies. */
class Meeting extends RotationCluster {
  /** Changes that the controllers have made since the rotation was asked for. */
  made = 0;
  /** At which of them the request comes; never, when it is negative. */
  moment = -1;
  /** The changes that the request makes before it dies: intent, version, undoing the version, forgetting the intent. */
  life = 0;
  /** Lets a request that has read all it needs make its changes. */
  #letGo: () => void = () => undefined;
  #coming: Promise<void> | undefined;
  #judgedAt = 0;
  #isPlanned = false;

  /** The controllers' store: the request comes between two of their changes. */
  watched(): Store {
    return new Proxy(this.store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (name !== 'commit') return member.bind(target) as unknown;
        return async (change: Change) => {
          if (this.#isPlanned && this.made++ === this.moment) await this.request();
          return target.commit(change);
        };
      },
    });
  }

  override async begin(): Promise<void> {
    await super.begin();
    // One container is enough: what counts is the order of changes.
    const web = await this.get<ReturnType<typeof makeDeployment>>(keys.deployment(TENANT, 'web'));
    await this.put(keys.deployment(TENANT, 'web'), { ...web, replicas: 1 });
    await this.put(keys.deployment(TENANT, 'worker'), {
      ...makeDeployment({ name: 'worker', replicas: 0 }),
      metadata: { ...web!.metadata, uid: 'dep_2' },
    });
    await this.clock.pass(20_000);
    this.#judgedAt = (await this.store.get(CONFLICT))?.revision ?? 0;
  }

  /** What the API does to begin a rotation. `between` happens after it has looked, before it writes. */
  async beginRotation(between: () => Promise<void> = async () => undefined, looksFirst = true): Promise<void> {
    for (let second = 0; (await this.store.list(ranges.intents)).entries.length > 0; second++) {
      expect(second, 'an intent is never finished').to.be.below(180);
      await this.clock.pass(1_000);
    }
    if (!looksFirst) await between();
    const { last = 0, current = 0 } = (await this.state()) ?? {};
    if (looksFirst) await between();
    const key = keys.rotation(TENANT, 'web-db');
    const askedAt = new Date(this.clock.now()).toISOString();
    const rest = { path: PATH, material: { by: 'platform' }, deployment: 'web', by: 'me' } as const;
    const asked: RotationRecord = { id: `rot_${last}`, phase: 'stage', from: current, to: last + 1, askedAt, ...rest };
    await this.put(CONFLICT, { by: asked.id });
    this.#isPlanned = this.moment >= 0;
    await this.put(key, asked);
  }

  /** Until a version is staged; restarted when another write has taken its number, as a repeated `stage` request does. */
  async reachStaged(): Promise<void> {
    for (let second = 0; second < 240; second++) {
      const progress = await this.progress();
      if (progress?.holds) return;
      if (progress?.waitsFor?.startsWith('the phase stage again')) await this.beginRotation();
      await this.clock.pass(1_000);
    }
    throw new Error(`nothing is staged: ${JSON.stringify(await this.progress())}`);
  }

  /** Has a request read all it needs, and wait for its moment. */
  async announce(): Promise<void> {
    const isReleased = new Promise<void>(resolve => {
      this.#letGo = resolve;
    });
    this.#coming = this.#come(isReleased);
    await this.clock.pass(1);
  }

  /** A request that was judged before the rotation began. It dies when its life is over, or ends. */
  request(): Promise<void> {
    this.#letGo();
    return this.#coming ?? this.#come(Promise.resolve());
  }

  async #come(isReleased: Promise<void>): Promise<void> {
    let isDead: () => void = () => undefined;
    const death = new Promise<void>(resolve => {
      isDead = resolve;
    });
    const life = { left: this.life, isLastMade: false };
    const living = createMortalStore(this.store, life, () => isDead());
    const commit = async (change: Change) => {
      await isReleased;
      return living.commit(change);
    };
    const store = new Proxy(living, {
      get: (target, name) => (name === 'commit' ? commit : (Reflect.get(target, name) as unknown)),
    });
    const env = { store, secrets: openSecretsIn(store), clock: this.clock, random: seededRandom(5) };
    await Promise.race([death, this.#bring(env)]);
  }

  async #bring(env: Parameters<typeof stageMaterial>[0]): Promise<void> {
    const material = [{ ...LABELLED, values: { password: 'theirs' } }];
    const seen = { [PATH]: ['password', 'user'] };
    const outcome = await stageMaterial(env, { tenant: TENANT, subject: 'web', operation: 'req', material, seen });
    if (outcome.kind !== 'staged') return;
    const conflict = {
      guards: [{ key: CONFLICT, at: this.#judgedAt }],
      puts: [{ key: CONFLICT, bytes: Buffer.from('{}') }],
    };
    const verdict = await env.store.commit(advanceIntent({ ...conflict, deletes: [] }, outcome.staged));
    await (verdict.stored ? settleIntent(env, outcome.staged, verdict.revision) : undoIntent(env, outcome.staged));
  }
}

describe('a rotation that meets a request which brings material and dies', function () {
  this.timeout(120_000);
  let cluster: Meeting;
  let stop: AbortController;

  const meet = async (moment: number, life: number) => {
    cluster = new Meeting();
    // No other process takes over here, and a long lease is seldom renewed.
    stop = cluster.controllers('one', undefined, cluster.watched(), { leaderLeaseSeconds: 60 });
    await cluster.begin();
    cluster.moment = moment;
    cluster.life = life;
  };
  /** `meanwhile` happens once `after` holds, and the janitor has the time to see to it. */
  const walk = async (after?: string, meanwhile: () => Promise<void> = async () => undefined) => {
    await cluster.reachStaged();
    for (const phase of ['stage', 'promote', 'verify', 'retire'] as const) {
      if (phase !== 'stage') await cluster.reach(phase);
      if (phase !== after) continue;
      await meanwhile();
      await cluster.clock.pass(90_000);
    }
    await cluster.clock.pass(180_000);
  };
  const endsWell = async (told: string) => {
    expect(cluster.violations, told).to.deep.equal([]);
    expect((await cluster.store.list(ranges.intents)).entries, told).to.deep.equal([]);
    const { last = 0, ...state } = (await cluster.state()) ?? {};
    const { to } = (await cluster.get<RotationRecord>(keys.rotation(TENANT, 'web-db')))!;
    expect(state, told).to.deep.equal({ current: to });
    expect(await cluster.versions(), told).to.deep.equal([`1:${to}`]);
    const left = (await cluster.store.list(ranges.secretVersions)).entries;
    expect(left, told).to.have.length(1);
    const reading = await cluster.secrets.read(path);
    expect(reading.kind === 'found' && reading.document.get('password')?.reveal(), told).not.to.equal('theirs');
    expect(last, told).to.be.at.least(to);
  };
  const close = async () => {
    stop.abort();
    cluster.close();
    await cluster.clock.pass(30_000);
  };

  const lives = sampleCases(
    6,
    [1, 2, 3].flatMap(life => [false, true].map(isEarly => ({ life, isEarly }))),
  );
  for (const { life, isEarly } of lives) {
    const told = `${life} changes, decided ${isEarly ? 'before the rotation' : 'at that moment'}`;
    it(`is not harmed by it at any moment: ${told}`, async () => {
      let moments = 0;
      for (let moment = 0; ; moment++) {
        await meet(moment, life);
        if (isEarly) await cluster.announce();
        await cluster.beginRotation();
        await walk();
        await endsWell(`moment ${moment}`);
        const isOver = cluster.made <= moment;
        await close();
        if (isOver) break;
        moments++;
      }
      expect(moments).to.be.greaterThan(8);
    });
  }

  for (const { life, isEarly } of lives) {
    const told = `${life} changes, decided ${isEarly ? 'before the rotation' : 'at that moment'}`;
    it(`is not harmed by it between its phases: ${told}`, async () => {
      for (const after of ['stage', 'promote', 'verify']) {
        await meet(-1, life);
        if (isEarly) await cluster.announce();
        await cluster.beginRotation();
        await walk(after, () => cluster.request());
        await endsWell(after);
        await close();
      }
    });
  }

  for (const life of [1, 2]) {
    for (const looksFirst of [true, false]) {
      it(`is not harmed by it as it begins: ${life} changes, ${looksFirst ? 'after' : 'before'} the look`, async () => {
        await meet(-1, life);
        await cluster.beginRotation(() => cluster.request(), looksFirst);
        await walk();
        await endsWell('');
        await close();
      });
    }
  }
});
