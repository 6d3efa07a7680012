import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { expect } from 'chai';

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
  const ready = async () => {
    for (let look = 0; !existsSync(join(folder, 'ready')); look++) {
      if (look === 500) throw new Error('it did not get ready');
      await pause(10);
    }
  };

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
});
