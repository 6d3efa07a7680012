import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { Keyring, mintToken } from '../../pkg/auth/index.js';
import { systemRandom } from '../../pkg/clock/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { silentLogger } from '../../pkg/log/index.js';
import { createMetrics } from '../../pkg/metrics/index.js';
import { create, MemoryStore, remove, type Store, WatchCache, type WatchHandler } from '../../pkg/store/index.js';
import { OpenStreams } from '../stream/open-streams.js';
import { AuthCache } from './auth-cache.js';

const WITHIN_MS = 2_000;

describe('a token that is revoked at another server', () => {
  const clock = new ManualClock();
  const keyring = new Keyring([systemRandom.bytes(32)]);
  let stop: AbortController;
  let memory: MemoryStore;
  let cache: WatchCache;
  let auth: AuthCache;
  let streams: OpenStreams;
  /** How long what was stored is on its way to this server. */
  let lagMs: number;
  let handler: WatchHandler;

  beforeEach(async () => {
    stop = new AbortController();
    lagMs = 0;
    memory = new MemoryStore({ clock });
    const follow: Store['follow'] = (to, options, signal) => {
      handler = to;
      const late: WatchHandler = {
        onReset: listing => to.onReset(listing),
        onEvents: events => void (lagMs === 0 ? to.onEvents(events) : clock.after(lagMs, () => to.onEvents(events))),
        onConnected: up => to.onConnected(up),
      };
      return memory.follow(late, options, signal);
    };
    const store = new Proxy(memory as Store, {
      get: (target, name) => {
        if (name === 'follow') return follow;
        const member = target[name as keyof Store];
        return typeof member === 'function' ? (member as () => unknown).bind(target) : member;
      },
    });
    cache = new WatchCache({ store, clock, log: silentLogger });
    void cache.run(stop.signal);
    await clock.pass(0);
    await cache.ready;
    auth = new AuthCache({ cache, keyring, clock });
    streams = new OpenStreams({ cache, clock, metrics: createMetrics() });
  });
  afterEach(() => {
    stop.abort();
    streams.close();
  });

  /** A token in use: on a connection that is known already, and for a stream that is open. */
  const use = async () => {
    const draft = { kind: 'admin', description: '', createdBy: '', lifeSeconds: 3_600 } as const;
    const { text, stored } = mintToken(draft, { keyring, clock, random: systemRandom });
    await create(memory, keys.token(stored.id), stored);
    await clock.pass(0);
    const connection = {};
    const identify = async () => {
      const asked = Promise.resolve(auth.identify(connection, `Bearer ${text}`));
      await clock.pass(0);
      return 'id' in (await asked);
    };
    expect(await identify()).to.equal(true);
    const stream = { isOpen: true };
    const token = { ...stored };
    streams.add('watch', { kind: 'admin', id: stored.id, token } as never, () => (stream.isOpen = false));
    const revoke = async () => remove(memory, (await memory.get(keys.token(stored.id)))!);
    return { identify, stream, revoke };
  };

  for (const lag of [0, 500, 1_900]) {
    it(`is refused within two seconds on a known connection, and ends its streams, when the watch lags ${lag} ms`, async () => {
      const { identify, stream, revoke } = await use();
      lagMs = lag;
      await revoke();
      const revokedAt = clock.now();
      while ((await identify()) && clock.now() - revokedAt <= WITHIN_MS) await clock.pass(50);
      expect(clock.now() - revokedAt).to.be.at.most(WITHIN_MS);
      expect(await identify()).to.equal(false);
      expect(stream.isOpen).to.equal(false);
    });
  }

  it('is not accepted while the watch is cut, because what the cache says is not believed then', async () => {
    const { identify, revoke } = await use();
    lagMs = 3_600_000;
    handler.onConnected(false);
    await revoke();
    const asked = identify().catch(() => 'unavailable');
    await clock.pass(WITHIN_MS);
    const outcome = await Promise.race([asked, clock.pass(0).then(() => 'no answer')]);
    expect(outcome).not.to.equal(true);
  });
});
