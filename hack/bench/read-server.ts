/**
 * An API server with 10,000 deployments, for measuring reads: `read-server.ts <etcd> <consistent|cached|stringify> <folder>`.
 * `cached` leaves out what makes a read consistent; `stringify` answers lists the obvious way. Prints one JSON line when
 * it serves, and its longest event-loop delay when it is told to stop.
 */
import { createServer } from 'node:http';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { createApi, startServer } from '../../api/index.js';
import { bootstrap } from '../../pkg/bootstrap/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { openKeyring } from '../../pkg/auth/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { loadSettings } from '../../pkg/config/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { createMetrics } from '../../pkg/metrics/index.js';
import { openSecretStore } from '../../pkg/secrets/index.js';
import { EtcdStore, encode, value, WatchCache } from '../../pkg/store/index.js';

const DEPLOYMENTS = 10_000;
const PAGE = 500;

class UnprovenCache extends WatchCache {
  override barrier(): Promise<void> {
    return Promise.resolve();
  }
}

const [, , endpoint = '', mode = '', folder = ''] = process.argv;
const env = { clock: systemClock, random: systemRandom, log: silentLogger };
const store = new EtcdStore({ endpoints: [endpoint], prefix: '/mooring/' });
const keyring = openKeyring(join(folder, 'keys'), systemRandom);
const access = await bootstrap({ ...env, store, keyring, file: join(folder, 'access.json') });
await seed(access.tenant.id);

const { settings } = loadSettings({
  environment: { MOORING_LISTEN: '127.0.0.1:0', MOORING_RATE_LIMIT_PER_SECOND: '1e9', MOORING_RATE_LIMIT_BURST: '1e9' },
});
const cache = new (mode === 'cached' ? UnprovenCache : WatchCache)({
  ...env,
  store,
  defer: setImmediate,
});
const secrets = await openSecretStore({ ...settings, keyFile: join(folder, 'keys') }, { store, random: systemRandom });
const api = createApi({ ...env, store, cache, settings, metrics: createMetrics(), keyring, secrets });
void cache.run(new AbortController().signal);
await cache.ready;
const url = mode === 'stringify' ? await serveStringified(access.tenant.id) : (await startServer(api, settings)).url;

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
console.log(JSON.stringify({ url, token: access.tenantToken }));
process.once('SIGTERM', () => {
  console.log(JSON.stringify({ longestDelayMs: delay.max / 1e6 }));
  process.exit(0);
});

/** Deployments of the size that real ones have. */
async function seed(tenant: string): Promise<void> {
  if (await store.get(keys.deployment(tenant, 'd00000'))) return;
  const make = async (n: number) => {
    const name = `d${String(n).padStart(5, '0')}`;
    const now = new Date().toISOString();
    const metadata = {
      tenant,
      uid: `dep_${n}`,
      generation: 1,
      createdAt: now,
      updatedAt: now,
      specHash: '0'.repeat(32),
    };
    const environment = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`SETTING_${i}`, `value-${n}-${i}-abcdefgh`]),
    );
    const spec = {
      kind: 'Deployment',
      name,
      image: 'registry.example.com/shop/web:1.4.2',
      replicas: 0,
      environment,
      secretsVersion: 0,
    };
    const key = keys.deployment(tenant, name);
    await store.commit({
      guards: [{ key, at: 0 }],
      puts: [{ key, bytes: encode({ metadata, ...spec }) }],
      deletes: [],
    });
  };
  await Promise.all(Array.from({ length: DEPLOYMENTS }, (_, n) => make(n)));
}

function serveStringified(tenant: string): Promise<string> {
  const objects = cache.list(ranges.of(ranges.deployments, tenant)).map(entry => value<object>(entry));
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ items: objects.slice(0, PAGE), revision: String(cache.revision), next: null }));
  });
  return new Promise(resolve => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as { port: number }).port}`));
  });
}
