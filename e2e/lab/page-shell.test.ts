import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { PageShell } from './page-shell.js';

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
});
