/**
 * `moor fencer --state-dir <folder>`: kills what writes to the replicated volumes of this machine when the agent with that state folder has not put
 * it off in time. An agent starts it where it does not find one; where systemd starts it, it outlives the unit of the agent (`--stay`).
 *
 * @module
 */
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { constants, setPriority, uptime } from 'node:os';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

import { InvalidSettingFault } from '../../config/index.js';
import { runProcess } from '../../process/index.js';
import { DeadlineKeeper } from './keeper.js';
import { WriterKiller } from './kill-writers.js';
import { locateFencer } from './place.js';

function readOptions(argv: readonly string[]) {
  const options = { 'state-dir': { type: 'string' }, stay: { type: 'boolean', default: false } } as const;
  const { values } = parseArgs({ args: [...argv], options });
  const stateDir = values['state-dir'];
  if (stateDir === undefined) throw new InvalidSettingFault('--state-dir: name the state folder of the agent');
  return { stateDir, stays: values.stay, logLevel: 'info', logFormat: 'json' };
}

function serve(keeper: DeadlineKeeper, socket: string): Promise<Server> {
  const answer = (agent: Socket) => {
    agent.on('error', () => agent.destroy());
    createInterface({ input: agent }).on('line', line => agent.write(`${keeper.take(line)}\n`));
  };
  const server = createServer(answer);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, () => resolve(server));
  });
}

/** Where a machine goes on that stood still, it is to be there before what it kills. */
function raisePriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_HIGHEST);
  } catch {
    // only root may; it does without
  }
}

function readKept(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

await runProcess('fencer', readOptions, async ({ stateDir, stays }, { clock, log }, signal) => {
  raisePriority();
  const place = locateFencer(realpathSync(stateDir));
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  const write = (text: string) => {
    writeFileSync(`${place.deadlines}.new`, text, { mode: 0o600 });
    renameSync(`${place.deadlines}.new`, place.deadlines);
  };
  const kept = { read: () => readKept(place.deadlines), write };
  const keeper = new DeadlineKeeper({ clock, log, uptimeMs: () => uptime() * 1000, writers: new WriterKiller(), kept });
  rmSync(place.socket, { force: true }); // of one that was killed
  const server = await serve(keeper, place.socket);
  log.info('fencer started', { address: place.socket });
  await keeper.run(signal, stays);
  server.close();
  log.info('fencer ended: no agent needs it');
});
