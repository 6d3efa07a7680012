/**
 * The process that runs the loops: `moor controllers [--only scheduler,node-monitor] [--<setting> <value>]`.
 *
 * Any number of them may run: each loop is led by one, and the others stand by. SIGTERM and SIGINT end it in order.
 *
 * @module
 */
import { hostname } from 'node:os';

import { ranges } from '../crds/keys/index.js';
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
import { policyOf } from '../pkg/fleet/index.js';
import { createLogger, type LogFormat, type LogLevel } from '../pkg/log/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import { openSecretStore } from '../pkg/secrets/index.js';
import { openEtcdStore, untilReachable, WatchCache } from '../pkg/store/index.js';
import { controllersIn } from './controllers-in.js';
import { allLoops, chosenLoops, secretLoops } from './list.js';
import { listenForMetrics } from './metrics-listener.js';

/** Runs the loops of these names until `signal` is aborted. */
async function main(settings: Settings, names: readonly string[], signal: AbortSignal): Promise<void> {
  const log = createLogger({
    level: settings.logLevel as LogLevel,
    format: settings.logFormat as LogFormat,
    fields: { process: 'controllers' },
  });
  const env = { clock: systemClock, random: systemRandom, log };
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
  const metrics = createMetrics();
  const loops = [...allLoops(policyOf(settings), settings.nodeGraceSeconds), ...secretLoops(secrets)];
  const controllers = controllersIn({
    ...env,
    store,
    cache,
    metrics,
    loops: loops.filter(({ name }) => names.includes(name)),
    holder: `${hostname()}-${process.pid}-${systemRandom.bytes(4).toString('hex')}`,
    leaderLeaseSeconds: settings.leaderLeaseSeconds,
    eventRetentionDays: settings.eventRetentionDays,
  });
  const listener = settings.metricsListen ? await listenForMetrics(settings.metricsListen, metrics) : undefined;

  const feeding = new AbortController();
  const fed = cache.run(feeding.signal);
  log.info('controllers started');
  await controllers.run(signal);
  feeding.abort();
  await fed;
  listener?.close();
  await secrets.close();
  await store.close();
  log.info('controllers stopped');
}

/** What it takes beside the settings. */
const OPTIONS = { only: 'run only these loops, separated by commas' };

const words = process.argv.slice(2);
const stop = new AbortController();
// No timer of ours keeps a process alive, and there may be no connection: it must wait for etcd all the same.
const alive = setInterval(() => undefined, 60_000);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());

try {
  if (asksForHelp(words)) process.stdout.write(argumentsHelp('moor controllers', OPTIONS));
  else {
    const { flags, file, more } = readArguments(words, Object.keys(OPTIONS));
    const { settings } = loadSettings({ environment: process.env, flags, ...(file !== undefined && { file }) });
    await main(settings, chosenLoops(more['only']), stop.signal);
  }
} catch (thrown) {
  process.stderr.write(`controllers: ${asError(thrown).message}\n`);
  // Connections may be open by now, and would keep a process alive that does nothing.
  process.exit(exitCodeOfStart(thrown));
} finally {
  clearInterval(alive);
}
