/**
 * The runner of long-lived processes: server, controllers and agent start, log and stop in the same way.
 *
 * `runProcess` reads the configuration, creates the logger, turns SIGTERM and SIGINT into one abort signal and decides
 * the exit code: 0 after an orderly stop, 2 when arguments or settings cannot be used, 1 for every other failure.
 * `readSettings` is the configuration of a process that takes the settings of `pkg/config`.
 *
 * `control-plane.ts` opens what server and controllers share. It is not exported here, so that the agent, which runs on
 * tenants' machines, does not load the client of etcd.
 *
 * @module
 */
import { createServer, type Server } from 'node:http';

import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.js';
import { formatHelp, InvalidSettingFault, loadSettings, readArguments, type Settings } from '../config/index.js';
import { asError } from '../fault/index.js';
import { createLogger, type LogFormat, type Logger, type LogLevel } from '../log/index.js';
import type { Metrics } from '../metrics/index.js';

/** What every process needs. */
export interface ProcessEnv {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Reads the configuration. Undefined when the arguments asked for help and got it. */
export type Configure<Config> = (argv: readonly string[], environment: NodeJS.ProcessEnv) => Config | undefined;

interface LogConfig {
  readonly logLevel: string;
  readonly logFormat: string;
}

/**
 * Runs this process to its end. `name` is the field `process` of its log lines. `run` works until `signal` is aborted,
 * then closes what it opened.
 */
export async function runProcess<Config extends LogConfig>(
  name: string,
  configure: Configure<Config>,
  run: (config: Config, env: ProcessEnv, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  // Timers of `Clock` do not keep a process alive, and there may be no connection yet: it must wait all the same.
  const keepAlive = setInterval(() => undefined, 60_000);
  try {
    const config = configure(process.argv.slice(2), process.env);
    if (!config) return;
    const log = createLogger({
      level: config.logLevel as LogLevel,
      format: config.logFormat as LogFormat,
      fields: { process: name },
    });
    await run(config, { clock: systemClock, random: systemRandom, log }, stop.signal);
  } catch (thrown) {
    process.stderr.write(`${name}: ${asError(thrown).message}\n`);
    // Connections that are still open would keep a failed process alive.
    process.exit(thrown instanceof InvalidSettingFault ? 2 : 1);
  } finally {
    clearInterval(keepAlive);
  }
}

/** Configures a process by the settings and by the further `options` that it takes, each with its description. */
export function readSettings<Name extends string>(
  program: string,
  options: Readonly<Record<Name, string>>,
): Configure<Settings & { readonly options: Readonly<Partial<Record<Name, string>>> }> {
  return (argv, environment) => {
    if (argv.includes('--help') || argv.includes('-h')) {
      process.stdout.write(formatHelp(program, options));
      return undefined;
    }
    const { flags, file, more } = readArguments(argv, Object.keys(options));
    const { settings } = loadSettings({ environment, flags, file });
    return { ...settings, options: more as Partial<Record<Name, string>> };
  };
}

/** Serves `GET /metrics` at `address`, as `host:port`. Resolves when it listens. */
export function listenForMetrics(address: string, metrics: Metrics): Promise<Server> {
  const split = address.lastIndexOf(':');
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') return void response.writeHead(404).end();
    metrics.text().then(
      text => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const host = address.slice(0, split).replace(/^\[|\]$/g, '');
    server.listen(Number(address.slice(split + 1)), host, () => resolve(server));
  });
}
