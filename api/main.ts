/**
 * The process that answers: `moor server [--bootstrap-file <path>] [--<setting> <value>]`.
 *
 * Any number of them may run. With `--bootstrap-file` a development set-up gets its first tenants and tokens, which are
 * kept in that file. SIGTERM and SIGINT end it in order.
 *
 * @module
 */
import { ranges } from '../crds/keys/index.js';
import { openKeyring } from '../pkg/auth/index.js';
import { systemClock, systemRandom } from '../pkg/clock/index.js';
import {
  argumentsHelp,
  asksForHelp,
  exitCodeOfStart,
  loadSettings,
  readArguments,
  type Settings,
} from '../pkg/config/index.js';
import { asError } from '../pkg/fault/index.js';
import { createLogger, type LogFormat, type LogLevel } from '../pkg/log/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import { ImageChecker } from '../pkg/registry/index.js';
import { openSecretStore, registryCredentials } from '../pkg/secrets/index.js';
import { openEtcdStore, untilReachable, WatchCache } from '../pkg/store/index.js';
import { createApi } from './api.js';
import { bootstrap } from './bootstrap.js';
import { startServer } from './server.js';

/** Serves until `signal` is aborted. */
async function main(settings: Settings, bootstrapFile: string | undefined, signal: AbortSignal): Promise<void> {
  const log = createLogger({
    level: settings.logLevel as LogLevel,
    format: settings.logFormat as LogFormat,
    fields: { process: 'server' },
  });
  const env = { clock: systemClock, random: systemRandom, log };
  const keyring = openKeyring(settings.keyFile, systemRandom);
  const store = openEtcdStore(settings, env);
  const secrets = await untilReachable(() => openSecretStore(settings, { store, random: systemRandom }), env, signal);
  if (!secrets) return store.close();
  await untilReachable(() => store.reportVersion(), env, signal);
  const cache = new WatchCache({
    ...env,
    store,
    defer: setImmediate,
    leavesOut: [ranges.archives],
  });
  const api = createApi({
    ...env,
    store,
    cache,
    settings,
    metrics: createMetrics(),
    keyring,
    secrets,
    ...(settings.registryCheck && {
      images: new ImageChecker({ ...env, settings, credentials: registryCredentials(secrets) }),
    }),
  });

  const feeding = new AbortController();
  const fed = cache.run(feeding.signal, { history: settings.tailBuffer });
  const aborted = new Promise<void>(resolve => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  if (bootstrapFile !== undefined) {
    const options = { store, keyring, file: bootstrapFile, ...env };
    await untilReachable(() => bootstrap(options), env, signal);
  }
  await Promise.race([cache.ready, aborted]);
  if (!signal.aborted) {
    const server = await startServer(api, settings);
    log.info('server started', { address: server.url });
    await aborted;
    await server.close();
  }
  feeding.abort();
  await fed;
  await store.close();
  log.info('server stopped');
}

/** What it takes beside the settings. */
const OPTIONS = { 'bootstrap-file': 'for development: make the first tenants and tokens, and keep them in this file' };

const words = process.argv.slice(2);
const stop = new AbortController();
// No timer of ours keeps a process alive, and there may be no connection: it must wait for etcd all the same.
const alive = setInterval(() => undefined, 60_000);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());

try {
  if (asksForHelp(words)) process.stdout.write(argumentsHelp('moor server', OPTIONS));
  else {
    const { flags, file, more } = readArguments(words, Object.keys(OPTIONS));
    const { settings } = loadSettings({ environment: process.env, flags, ...(file !== undefined && { file }) });
    await main(settings, more['bootstrap-file'], stop.signal);
  }
} catch (thrown) {
  process.stderr.write(`server: ${asError(thrown).message}\n`);
  // Connections may be open by now, and would keep a process alive that does nothing.
  process.exit(exitCodeOfStart(thrown));
} finally {
  clearInterval(alive);
}
