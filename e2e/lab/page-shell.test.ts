import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { toScriptArguments, until } from '../../dev/testing/index.js';
import { identifyProcess } from '../../up/machine/os-process.js';
import { PageShell } from './page-shell.js';

const FILE = new URL('./page-shell.js', import.meta.url).href;
const LEAVES_ONE = 'sleep 301 & echo $!';

/** Opens a shell that leaves a process in the background, and ends without ending it. */
const PROGRAM = `
const [, file, cwd] = process.argv;
const { PageShell } = await import(file);
const shell = new PageShell({ cwd, env: process.env });
await shell.run('${LEAVES_ONE}');
process.stdout.write(shell.printed);
process.exit(7);
`;

/** Until the process has ended whose id was printed. */
const gone = (printed: string) => {
  const pid = Number.parseInt(printed, 10);
  expect(pid, printed).to.be.above(1);
  return until(`process ${pid} to end`, () => identifyProcess(pid) === undefined);
};

describe('the shell of a page', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'mooring-page-shell-'));
  const shells: PageShell[] = [];
  const open = () => {
    const shell = new PageShell({ cwd, env: process.env });
    shells.push(shell);
    return shell;
  };
  after(async () => {
    for (const shell of shells) await shell.end();
    rmSync(cwd, { recursive: true });
  });

  it('has in one block what another has set, and gives no command its own input', async () => {
    const shell = open();
    await shell.run('word=kept\nsh -c "exit 3" || code=$?\ncat');
    await shell.run('echo "$word $code"');
    expect(shell.printed).to.equal('kept 3\n');
  });

  it('fails with what was printed at the first command that does', async () => {
    const shell = open();
    const failure = await shell.run('echo before\nfalse\necho after').catch((thrown: unknown) => String(thrown));
    expect(failure)
      .to.match(/ended with 1/)
      .and.match(/\nbefore\n/);
    expect(shell.printed).not.to.contain('after');
  });

  it('ends what a block has left running, also when a later command failed', async () => {
    for (const last of ['true', 'false']) {
      const shell = open();
      await shell.run(LEAVES_ONE);
      await shell.run(last).catch(() => undefined);
      await shell.end();
      await gone(shell.printed);
    }
  });

  it('ends with the program that opened it, and leaves that no listener once it was ended', async () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, toScriptArguments(PROGRAM, FILE, cwd), {
      encoding: 'utf8',
    });
    expect(status, stderr).to.equal(7);
    await gone(stdout);

    const before = process.listenerCount('exit');
    const shell = open();
    expect(process.listenerCount('exit')).to.equal(before + 1);
    await shell.end();
    expect(process.listenerCount('exit')).to.equal(before);
  });
});
