import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { RotationRecord } from '../../crds/rotation/index.js';
import { seededRandom } from '../../pkg/clock/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import type { LoopEnv } from '../../pkg/reconcile/index.js';
import type { SecretState, SecretStore } from '../../pkg/secrets/index.js';
import { type Change, encode, MemoryStore, WatchCache } from '../../pkg/store/index.js';
import { defineIndexes, formatQueueKey } from '../reading/index.js';
import { reconcileRotation } from './reconcile.js';

const TENANT = 'a3b8f042-1e16-4f0a-8f0e-5d7f6f1f2f3a';
const PATH = 'deployments/web-db';

describe('the log of the rotation phaser', () => {
  const missing = async () => ({ kind: 'missing' }) as const;
  const forbidden = async () => ({ kind: 'forbidden' }) as const;
  const staged: SecretState = { last: 2, current: 1, pending: 2 };
  const unstaged: SecretState = { last: 1, current: 1 };
  const cases: readonly [
    name: string,
    phase: RotationRecord['phase'],
    state: SecretState,
    refuses: Partial<SecretStore>,
  ][] = [
    ['a version that may not be written', 'stage', unstaged, { read: forbidden, write: forbidden }],
    ['a version that may not be turned to', 'promote', staged, { promote: forbidden }],
    ['a version that is gone', 'promote', staged, { promote: missing }],
    ['a version that may not be destroyed', 'abort', staged, { destroy: forbidden }],
  ];
  for (const [name, phase, state, refuses] of cases) {
    it(`says nothing of ${name}`, async () => {
      const clock = new ManualClock();
      const store = new MemoryStore({ clock });
      const cache = new WatchCache({ store, clock, log: silentLogger });
      defineIndexes(cache);
      const stop = new AbortController();
      void cache.run(stop.signal);
      await cache.ready;
      const commit = async (change: Change) => {
        const verdict = await store.commit(change);
        if (verdict.stored) await cache.reached(verdict.revision);
      };
      const put = (key: string, document: unknown) =>
        commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(document) }], deletes: [] });
      const secrets = [{ name: 'DB', vault_path: PATH, anchor: 'process', rotation: 'restart' }];
      const metadata = { tenant: TENANT, uid: 'dep_1' };
      await put(keys.deployment(TENANT, 'web'), { metadata, name: 'web', replicas: 0, secrets });
      const rotation = { id: 'rot_1', path: PATH, phase, from: 1, to: 2, material: { by: 'platform' }, askedAt: '' };
      await put(keys.rotation(TENANT, 'web-db'), rotation);

      const said: string[] = [];
      const log = { ...silentLogger, info: (message: string) => void said.push(message) };
      const fence = { key: keys.leader('rotation-phaser'), created: 1 };
      const env = { cache, clock, log, commit, fence, random: seededRandom(1) } as unknown as LoopEnv;
      const found = async () => ({ kind: 'found', uid: 'c1', state }) as const;
      const phaser = reconcileRotation({ state: found, ...refuses } as unknown as SecretStore);
      expect((await phaser(formatQueueKey({ tenant: TENANT, name: 'web-db' }), env, stop.signal)).kind).to.equal(
        'again',
      );
      expect(said).to.deep.equal([]);
      stop.abort();
    });
  }
});
