import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { isInstalled, runTool } from './run-tool.js';

describe('isInstalled', () => {
  let folder: string;
  let path: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-tools-'));
    for (const name of ['first', 'second']) mkdirSync(join(folder, name));
    path = `${join(folder, 'first')}:${join(folder, 'absent')}:${join(folder, 'second')}`;
  });
  after(() => rmSync(folder, { recursive: true }));

  it('finds a program in any folder of the path', async () => {
    writeFileSync(join(folder, 'second', 'tool'), '#!/bin/sh\n');
    chmodSync(join(folder, 'second', 'tool'), 0o755);
    expect(await isInstalled('tool', path)).to.equal(true);
  });

  it('takes neither what is absent nor a file that cannot be run', async () => {
    writeFileSync(join(folder, 'first', 'text'), '', { mode: 0o644 });
    expect(await isInstalled('text', path)).to.equal(false);
    expect(await isInstalled('nothing', path)).to.equal(false);
  });

  it('takes no folder of that name, and no applet of BusyBox, which lacks most options', async () => {
    mkdirSync(join(folder, 'first', 'folder'));
    writeFileSync(join(folder, 'second', 'busybox'), '#!/bin/sh\n', { mode: 0o755 });
    symlinkSync('../second/busybox', join(folder, 'first', 'applet'));
    writeFileSync(join(folder, 'second', 'applet'), '#!/bin/sh\n', { mode: 0o755 });
    expect(await isInstalled('folder', path)).to.equal(false);
    expect(await isInstalled('applet', path), 'the first of the path is run').to.equal(false);
  });

  it('says of a program what running it shows', async () => {
    expect(await isInstalled('true')).to.equal(true);
    await runTool('true');
  });
});
