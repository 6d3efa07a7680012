/**
 * The process that runs the loops: `moor controllers [--only scheduler,node-monitor] [--<setting> <value>]`.
 *
 * Any number of them may run: each loop is led by one, and the others stand by. SIGTERM and SIGINT end it in order.
 *
 * @module
 */
import { hostname } from 'node:os';

import { toPlacementPolicy } from '../pkg/fleet/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import { openBackend } from '../pkg/process/control-plane.js';
import { listenForMetrics, readSettings, runProcess } from '../pkg/process/index.js';
import { maintainStore } from '../pkg/process/store-maintenance.js';
import { openTracer } from '../pkg/trace/index.js';
import { createControllers } from './index.js';
import { createLoops, selectLoops, createSecretLoops } from './list.js';

await runProcess(
  'controllers',
  readSettings('moor controllers', { only: 'run only these loops, separated by commas' }),
  async (settings, env, signal) => {
    const names = selectLoops(settings.options.only);
    const metrics = createMetrics();
    const tracer = await openTracer('mooring-controllers', settings, { ...env, metrics });
    const backend = await openBackend('controllers', settings, { ...env, metrics }, signal);
    if (!backend) return;
    const { store, secrets, cache, clock } = backend;
    const loops = [...createLoops(toPlacementPolicy(settings), settings), ...createSecretLoops(secrets, settings)];
    const controllers = createControllers({
      ...env,
      clock,
      store,
      cache,
      metrics,
      tracer,
      loops: loops.filter(({ name }) => names.includes(name)),
      holder: `${hostname()}-${process.pid}-${env.random.bytes(4).toString('hex')}`,
      leaderLeaseSeconds: settings.leaderLeaseSeconds,
      eventRetentionDays: settings.eventRetentionDays,
    });
    const listener = settings.metricsListen ? await listenForMetrics(settings.metricsListen, metrics) : undefined;

    backend.fillCache();
    env.log.info('controllers started');
    const maintaining = maintainStore({ ...env, clock, store, metrics, settings }, signal);
    await Promise.all([controllers.run(signal), maintaining]);
    listener?.close();
    await tracer?.close();
    await backend.close();
    env.log.info('controllers stopped');
  },
);
