import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { formatToken, Keyring, mintToken } from '../../pkg/auth/index.js';
import { type Random, systemClock, systemRandom } from '../../pkg/clock/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { create, MemoryStore, remove, WatchCache } from '../../pkg/store/index.js';
import { AuthCache, type AuthResult } from './auth-cache.js';

const LIFE_SECONDS = 60;

describe('the auth cache', () => {
  let now: number;
  let proven: number;
  let acquaintances: AuthCache;
  let store: MemoryStore;
  let cache: WatchCache;
  let stop: AbortController;
  const connection = {};

  class CountingKeyring extends Keyring {
    override matches(secret: string, digest: string): boolean {
      proven++;
      return super.matches(secret, digest);
    }
  }
  const keyring = new CountingKeyring([systemRandom.bytes(32)]);

  beforeEach(async () => {
    [now, proven] = [Date.now(), 0];
    const clock = { ...systemClock, now: () => now };
    store = new MemoryStore({ clock: systemClock });
    cache = new WatchCache({ store, clock: systemClock, log: silentLogger });
    stop = new AbortController();
    void cache.run(stop.signal);
    await cache.ready;
    acquaintances = new AuthCache({ cache, keyring, clock });
  });
  afterEach(() => stop.abort());

  async function token(random: Random = systemRandom) {
    const draft = { kind: 'admin', description: '', createdBy: '', lifeSeconds: LIFE_SECONDS } as const;
    const { text, stored } = mintToken(draft, {
      keyring,
      clock: { ...systemClock, now: () => now },
      random,
    });
    await create(store, keys.token(stored.id), stored);
    await cache.barrier();
    return { header: `Bearer ${text}`, stored };
  }
  const readId = async (identified: AuthResult | Promise<AuthResult>) => {
    const found = await identified;
    return 'id' in found ? found.id : found.rejections[0].code;
  };

  it('verifies a token once for each connection', async () => {
    const { header, stored } = await token();

    for (const on of [connection, connection, connection, {}]) {
      expect(await readId(acquaintances.identify(on, header))).to.equal(stored.id);
    }
    expect(proven).to.equal(2);
  });

  it('verifies again with another header, and refuses without one', async () => {
    const [first, second] = [await token(), await token()];

    expect(await readId(acquaintances.identify(connection, first.header))).to.equal(first.stored.id);
    expect(await readId(acquaintances.identify(connection, second.header))).to.equal(second.stored.id);
    expect(await readId(acquaintances.identify(connection, undefined))).to.equal('auth_required');
    expect(await readId(acquaintances.identify(connection, `${first.header}x`))).to.equal('auth_invalid');
  });

  it('does the same work for an unknown id as for a known one with a wrong secret', async () => {
    const [id, other] = [systemRandom.bytes(12), systemRandom.bytes(12)];
    await token({ ...systemRandom, bytes: count => (count === id.length ? id : systemRandom.bytes(count)) });
    let barriers = 0;
    const barrier = cache.barrier.bind(cache);
    cache.barrier = () => (barriers++, barrier());
    const work: (readonly number[])[] = [];
    for (const presented of [id, other]) {
      [proven, barriers] = [0, 0];
      const header = `Bearer ${formatToken('admin', presented, systemRandom.bytes(32))}`;
      expect(await readId(acquaintances.identify({}, header))).to.equal('auth_invalid');
      work.push([proven, barriers]);
    }
    expect(work[0]).to.deep.equal(work[1]);
  });

  it('refuses a known connection once its token is revoked', async () => {
    const { header, stored } = await token();
    await acquaintances.identify(connection, header);
    await remove(store, (await store.get(keys.token(stored.id)))!);
    await cache.barrier();

    expect(await readId(acquaintances.identify(connection, header))).to.equal('auth_invalid');
  });

  it('refuses a known connection once its token has expired', async () => {
    const { header } = await token();
    await acquaintances.identify(connection, header);
    now += LIFE_SECONDS * 1_000;

    expect(await readId(acquaintances.identify(connection, header))).to.equal('auth_invalid');
  });
});
