import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { Programs } from './programs.js';

describe('programs that run for a test', () => {
  let folder: string;
  let programs: Programs;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-programs-'));
    programs = new Programs();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const run = (script: string) =>
    programs.run(['-e', script], { live: false, environment: { READY: join(folder, 'ready') } });
  /** The end of a script that listens to signals by now, and stays. */
  const stay = 'require("fs").writeFileSync(process.env.READY, ""); setInterval(() => {}, 1_000);';
  const ready = () => until('it is ready', () => existsSync(join(folder, 'ready')));

  it('have all that they print kept, errors included', async () => {
    const { status, printed } = await run('console.log("one"); console.error("two"); process.exitCode = 3');
    expect(status).to.equal(3);
    expect(printed.split('\n').sort()).to.deep.equal(['', 'one', 'two']);
  });

  it('are asked to end, and can take down what they have put up', async () => {
    const ended = run(`process.on("SIGINT", () => { console.log("down"); process.exit(0) }); ${stay}`);
    await ready();
    programs.end();
    expect(await ended).to.deep.equal({ status: 0, printed: 'down\n' });
    expect(programs.isEnding).to.equal(true);
  });

  it('are ended at once when asked again, with what they have started', async () => {
    // What it has started holds its output open: the answer comes when both have ended.
    const child = 'require("child_process").spawn("sleep", ["60"], { stdio: "inherit" });';
    const ended = run(`process.on("SIGINT", () => {}); ${child} ${stay}`);
    await ready();
    programs.end();
    programs.end();
    expect((await ended).status).to.equal(null);
  });

  it('stand still when they are stalled, with what they have started, and go on but for what they have stopped', async () => {
    const start =
      'const { spawn } = require("child_process"); const [one, two] = [1, 2].map(() => spawn("sleep", ["60"]));';
    const down = 'process.on("SIGINT", () => { one.kill("SIGKILL"); two.kill("SIGKILL"); process.exit(0) });';
    const tell = 'require("fs").writeFileSync(process.env.READY + ".pids", [process.pid, one.pid, two.pid].join(" "));';
    const ended = run(`${start} ${down} two.kill("SIGSTOP"); ${tell} ${stay}`);
    await ready();
    const pids = readFileSync(join(folder, 'ready.pids'), 'utf8').split(' ');
    const isStopped = (pid: string) => /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    const stop = new AbortController();
    const stalling = programs.stall(3_600_000, stop.signal);
    await until('all stand still', () => pids.every(isStopped));
    stop.abort();
    await stalling;
    await until('they go on', () => !pids.slice(0, 2).some(isStopped));
    expect(pids.map(isStopped)).to.deep.equal([false, false, true]);
    programs.end();
    expect((await ended).status).to.equal(0);
  });
});
