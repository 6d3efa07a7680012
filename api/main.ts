/**
 * The process that answers: `moor server [--bootstrap-file <path>] [--<setting> <value>]`.
 *
 * Any number of them may run. With `--bootstrap-file` a development set-up gets its first tenants and tokens, which are
 * kept in that file. SIGTERM and SIGINT end it in order.
 *
 * @module
 */
import { openKeyring } from '../pkg/auth/index.js';
import { bootstrap } from '../pkg/bootstrap/index.js';
import { untilAborted } from '../pkg/clock/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import { openBackend } from '../pkg/process/control-plane.js';
import { readSettings, runProcess } from '../pkg/process/index.js';
import { StoreMonitor } from '../pkg/process/store-monitor.js';
import { addPlatformLogins, ImageChecker, RegistryLogins } from '../pkg/registry/index.js';
import { createRegistryCredentials } from '../pkg/secrets/index.js';
import { retryUntilReachable } from '../pkg/store/index.js';
import { openTracer } from '../pkg/trace/index.js';
import { createApi } from './api.js';
import { explainUnreachable, findInheritedSocket, startServer } from './server.js';

await runProcess(
  'server',
  readSettings('moor server', {
    'bootstrap-file': 'for development: create the first tenants and tokens, and keep them in this file',
  }),
  async (settings, processEnv, signal) => {
    const inherited = findInheritedSocket(process.env);
    const logins = new RegistryLogins(settings.registryLoginsFile);
    const metrics = createMetrics();
    const tracer = await openTracer('mooring-server', settings, { ...processEnv, metrics });
    const keyring = openKeyring(settings.keyFile, processEnv.random);
    const backend = await openBackend('server', settings, { ...processEnv, metrics }, signal);
    if (!backend) return;
    const { store, secrets, cache, clock } = backend;
    const env = { ...processEnv, clock };
    const monitor = new StoreMonitor({ ...env, store, metrics, quotaBytes: settings.etcdQuotaBytes });
    const api = createApi({
      ...env,
      store,
      cache,
      settings,
      metrics,
      tracer,
      storeReport: () => monitor.report,
      keyring,
      secrets,
      ...(settings.registryCheck && {
        images: new ImageChecker({
          ...env,
          settings,
          credentials: addPlatformLogins(createRegistryCredentials(secrets), logins),
        }),
      }),
    });

    backend.fillCache({ history: settings.tailBuffer });
    const aborted = untilAborted(signal);
    const monitoring = monitor.run(signal);
    const file = settings.options['bootstrap-file'];
    if (file !== undefined) await retryUntilReachable(() => bootstrap({ ...env, store, keyring, file }), env, signal);
    await Promise.race([cache.ready, aborted]);
    if (!signal.aborted) {
      const server = await startServer(api, settings, { ...env, inherited });
      env.log.info('server started', { address: server.url });
      const because = explainUnreachable(settings);
      if (because !== undefined) env.log.warn('logs of containers cannot be followed', { because });
      await aborted;
      await server.close();
    }
    await Promise.all([monitoring, tracer?.close()]);
    await backend.close();
    env.log.info('server stopped');
  },
);
