import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { seededRandom } from '../../pkg/clock/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import {
  advanceIntent,
  settleIntent,
  stageMaterial,
  type StagedMaterial,
  undoIntent,
} from '../../pkg/material/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import { toCredentialPath, toSecretDocument, EmbeddedSecretStore, SecretKeyring } from '../../pkg/secrets/index.js';
import { destroyVersion } from '../../pkg/secrets/destroy-version.testing.js';
import { type Change, encode, MemoryStore, remove, WatchCache } from '../../pkg/store/index.js';
import { finishIntent } from './index.js';

const TENANT = 'a3b8f042-1e16-4f0a-8f0e-5d7f6f1f2f3a';
const PATH = 'deployments/web-db';
const progressKey = keys.rotationProgress(TENANT, 'web-db');

describe('the janitor', () => {
  let clock: ManualClock;
  let store: MemoryStore;
  let cache: WatchCache;
  let secrets: EmbeddedSecretStore;
  let stopped: AbortController;
  const random = seededRandom(7);
  const path = toCredentialPath(TENANT, PATH);

  beforeEach(async () => {
    stopped = new AbortController();
    clock = new ManualClock();
    store = new MemoryStore({ clock });
    cache = new WatchCache({ store, clock, log: silentLogger });
    void cache.run(stopped.signal);
    await cache.ready;
    secrets = new EmbeddedSecretStore({
      store,
      random,
      keyring: new SecretKeyring([random.bytes(32)]),
      granted: ['deployments'],
    });
  });
  afterEach(() => stopped.abort());

  const env = () => ({ store, secrets, clock, random });
  const material = (password: string) => [{ namespace: 'deployments', label: 'web-db', values: { password } }];
  const staged = async (password = 'new', seen: readonly string[] = []): Promise<StagedMaterial> => {
    const outcome = await stageMaterial(env(), {
      tenant: TENANT,
      subject: 'web',
      operation: 'req_1',
      material: material(password),
      seen: { [PATH]: seen },
    });
    if (outcome.kind !== 'staged') throw new Error(outcome.kind);
    return outcome.staged;
  };
  const write = (password: string, after: number) =>
    secrets.write(path, { document: toSecretDocument({ password }), after, as: 'current' });
  const record: Change = {
    guards: [{ key: 'deployments/t/web', at: 0 }],
    puts: [{ key: 'deployments/t/web', bytes: Buffer.from('{}') }],
    deletes: [],
  };
  const commit = async (change: Change) => {
    const verdict = await store.commit(change);
    if (!verdict.stored) throw new Error('a guard did not hold');
    await cache.reached(verdict.revision);
  };
  const run = async (key: string) => {
    await cache.barrier();
    return finishIntent(secrets)(key, await lead(), stopped.signal);
  };
  /** What a loop is given by the runtime, as the leader of the moment. */
  const lead = async (): Promise<LoopEnv> => {
    const leader = keys.leader('janitor');
    const elected = await store.get(leader);
    if (!elected)
      await commit({ guards: [{ key: leader, at: 0 }], puts: [{ key: leader, bytes: encode({}) }], deletes: [] });
    const fence = { key: leader, created: (elected ?? (await store.get(leader)))!.created };
    const fenced = (change: Change) => commit({ ...change, guards: [...change.guards, fence] });
    return { cache, clock, log: silentLogger, commit: fenced, fence } as unknown as LoopEnv;
  };
  /** Another process leads from now on. */
  const depose = async () => {
    const leader = await store.get(keys.leader('janitor'));
    if (leader) await remove(store, leader);
    await lead();
  };
  /** Until there is nothing left to do. */
  const finishAll = async (key: string) => {
    for (let round = 0; round < 5; round++) if ((await run(key)).kind === 'done') return;
    throw new Error('never finished');
  };
  const current = async () => {
    const reading = await secrets.read(path);
    return reading.kind === 'found' ? reading.document.get('password')?.reveal() : undefined;
  };

  it('leaves the intent of a running request alone', async () => {
    const { key } = await staged();
    expect((await run(key)).kind).to.equal('again');
    expect(await store.get(key)).not.to.equal(undefined);
  });

  it('destroys the versions of a request that died before its record was stored', async () => {
    await write('old', 0);
    const { key } = await staged('new', ['password']);
    expect(await current()).to.equal('old');
    await clock.pass(61_000);
    await finishAll(key);
    expect(await current()).to.equal('old');
    expect((await secrets.read(path, 2)).kind).to.equal('missing');
    expect(await store.get(key)).to.equal(undefined);
  });

  it('prevents a record from being stored after its intent was given up', async () => {
    const late = await staged();
    await clock.pass(61_000);
    await run(late.key);
    expect((await store.commit(advanceIntent(record, late))).stored).to.equal(false);
  });

  it('makes the versions of a stored record current', async () => {
    await write('old', 0);
    const mine = await staged('new', ['password']);
    await store.commit(advanceIntent(record, mine));
    await clock.pass(61_000);
    await finishAll(mine.key);
    expect(await current()).to.equal('new');
    expect(await store.get(mine.key)).to.equal(undefined);
  });

  it('never replaces a later version', async () => {
    const mine = await staged();
    await store.commit(advanceIntent(record, mine));
    await write('later', 1);
    await clock.pass(61_000);
    await finishAll(mine.key);
    expect(await current()).to.equal('later');
  });

  it('keeps a version of another intent with the same number', async () => {
    const key = keys.intent(TENANT, 'dead');
    const intent = {
      state: 'writing',
      tenant: TENANT,
      subject: 'web',
      operation: 'req_2',
      at: new Date(clock.now()).toISOString(),
      writes: [{ path: PATH, version: 1 }],
    };
    await commit({
      guards: [{ key, at: 0 }],
      puts: [{ key, bytes: Buffer.from(JSON.stringify(intent)) }],
      deletes: [],
    });
    await write('theirs', 0);
    await clock.pass(61_000);
    await finishAll(key);
    expect(await current()).to.equal('theirs');
  });

  it('keeps a version of a rotation with the same number', async () => {
    await write('old', 0);
    const { key } = await staged('new', ['password']);
    // The same number, as if the rotation had been first and the request had died before it could write.
    const rotation = { id: 'rot_1', path: PATH, phase: 'stage', from: 1, to: 2 };
    const records = { [keys.rotation(TENANT, 'web-db')]: rotation, [progressKey]: { id: 'rot_1', staged: true } };
    for (const [at, record_] of Object.entries(records)) {
      await commit({ guards: [{ key: at, at: 0 }], puts: [{ key: at, bytes: encode(record_) }], deletes: [] });
    }
    await clock.pass(61_000);
    await finishAll(key);
    expect((await secrets.read(path, 2)).kind).to.equal('found');
    expect(await store.get(key)).to.equal(undefined);
  });

  it('destroys the version of a dead request although an ended rotation had its number', async () => {
    await write('old', 0);
    const { key } = await staged('new', ['password']);
    const asked = { id: 'rot_1', path: PATH, phase: 'retire', from: 1, to: 2 };
    const ended = { id: 'rot_1', phase: 'retire', staged: true, holds: true };
    for (const [at, record_] of Object.entries({ [keys.rotation(TENANT, 'web-db')]: asked, [progressKey]: ended })) {
      await commit({ guards: [{ key: at, at: 0 }], puts: [{ key: at, bytes: encode(record_) }], deletes: [] });
    }
    await clock.pass(61_000);
    await finishAll(key);
    expect((await secrets.read(path, 2)).kind).to.equal('missing');
    expect(await current()).to.equal('old');
  });

  it('finishes later when it is killed after any step', async () => {
    const mine = await staged();
    await clock.pass(61_000);
    await run(mine.key);
    await destroyVersion(secrets, path, 1);
    await finishAll(mine.key);
    expect(await current()).to.equal(undefined);
  });

  describe('paused before it destroys', () => {
    /** A janitor that stands still from its next call of `method` on, until it is let go. */
    const pauseAt = async (method: 'state' | 'destroy', key: string) => {
      let letGo: () => void = () => undefined;
      const released = new Promise<void>(resolve => {
        letGo = resolve;
      });
      let reached: () => void = () => undefined;
      const isPaused = new Promise<void>(resolve => {
        reached = resolve;
      });
      const slow = new Proxy(secrets, {
        get: (target, name: keyof EmbeddedSecretStore) =>
          name === method
            ? async (...asked: unknown[]) => {
                const act = () => (target[name] as (...all: unknown[]) => Promise<unknown>).apply(target, asked);
                const seen = method === 'state' ? await act() : undefined;
                reached();
                await released;
                return seen ?? act();
              }
            : (target[name] as () => unknown).bind(target),
      });
      await cache.barrier();
      const work = finishIntent(slow)(key, await lead(), stopped.signal).then(
        () => 'went on',
        (thrown: unknown) => String(thrown),
      );
      await isPaused;
      return { letGo, work };
    };
    const marked = async (password: string, seen: readonly string[], rounds: number) => {
      const { key } = await staged(password, seen);
      await clock.pass(61_000);
      for (let round = 0; round < rounds; round++) await run(key);
      return key;
    };

    it('destroys nothing of a credential that was made anew meanwhile', async () => {
      const key = await marked('dead', [], 2);
      const paused = await pauseAt('destroy', key);
      await depose();
      await finishAll(key);
      await secrets.delete(path);
      await write('theirs', 0);
      paused.letGo();
      await paused.work;
      expect(await current()).to.equal('theirs');
    });

    it('destroys nothing after another process leads', async () => {
      await write('old', 0);
      const key = await marked('dead', ['password'], 2);
      const paused = await pauseAt('destroy', key);
      await depose();
      paused.letGo();
      expect(await paused.work).to.contain('another process leads');
      expect((await secrets.read(path, 2)).kind, 'left to the new leader').to.equal('found');
      await finishAll(key);
      expect((await secrets.read(path, 2)).kind).to.equal('missing');
    });

    it('decides nothing on what it saw before another process led', async () => {
      await write('old', 0);
      const key = await marked('dead', ['password'], 1);
      const paused = await pauseAt('state', key);
      await depose();
      await finishAll(key);
      paused.letGo();
      expect(await paused.work).to.contain('a guard did not hold');
    });

    it('destroys no version that a running request was promised too', async () => {
      await write('old', 0);
      const dead = keys.intent(TENANT, 'dead');
      const intent = {
        state: 'writing',
        tenant: TENANT,
        subject: 'web',
        operation: 'req_2',
        writes: [{ path: PATH, version: 2 }],
      };
      const at = new Date(clock.now()).toISOString();
      await commit({
        guards: [{ key: dead, at: 0 }],
        puts: [{ key: dead, bytes: encode({ ...intent, at }) }],
        deletes: [],
      });
      await clock.pass(61_000);
      const mine = await staged('new', ['password']);
      for (let round = 0; round < 3; round++) await run(dead);
      expect((await secrets.read(path, 2)).kind).to.equal('found');
      const verdict = await store.commit(advanceIntent(record, mine));
      if (verdict.stored) await settleIntent(env(), mine, verdict.revision);
      await finishAll(dead);
      expect(await current()).to.equal('new');
    });
  });

  describe('is not needed when', () => {
    it('the record was stored: the versions are current at once', async () => {
      const mine = await staged();
      const verdict = await store.commit(advanceIntent(record, mine));
      if (verdict.stored) await settleIntent(env(), mine, verdict.revision);
      expect(await current()).to.equal('new');
      expect(await store.get(mine.key)).to.equal(undefined);
    });

    it('the record was refused: exactly the new versions are destroyed', async () => {
      await write('old', 0);
      const mine = await staged('new', ['password']);
      await undoIntent(env(), mine);
      expect(await current()).to.equal('old');
      expect(await store.get(mine.key)).to.equal(undefined);
    });

    it('the credential is not as it was judged: nothing is written', async () => {
      await write('old', 0);
      const request = { tenant: TENANT, subject: 'web', operation: 'req', material: material('new'), seen: {} };
      expect((await stageMaterial(env(), request)).kind).to.equal('conflict');
      expect((await secrets.read(path, 2)).kind).to.equal('missing');
    });

    it('the credential holds it all already', async () => {
      await write('same', 0);
      const seen = { [PATH]: ['password'] };
      const request = { tenant: TENANT, subject: 'web', operation: 'req', material: material('same'), seen };
      expect((await stageMaterial(env(), request)).kind).to.equal('nothing');
    });
  });
});
