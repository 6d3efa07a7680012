import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { skip } from '../../../dev/testing/index.js';
import { clone } from '../../version/index.js';
import { readProcessTable } from '../process-table.js';

const ID = `vol_${'1'.repeat(26)}`;

describe('moor agent volumes', () => {
  let state: string;
  beforeEach(() => {
    state = mkdtempSync(join(tmpdir(), 'mooring-state-'));
    const kept = join(state, 'volumes', `.removed-${ID}.1`);
    mkdirSync(kept, { recursive: true });
    writeFileSync(join(kept, 'file'), 'kept');
    const note = {
      keptMs: 90_000,
      bytes: 2 ** 20,
      volume: 'data',
      replication: { epoch: 1, generationId: '0123456789abcdef', role: 'replica' },
    };
    writeFileSync(join(kept, 'removed.json'), JSON.stringify(note));
  });
  afterEach(() => rmSync(state, { recursive: true }));

  const moor = (...words: readonly string[]) =>
    new Promise<{ code: number; out: string; err: string }>(resolve => {
      const all = ['agent', 'volumes', ...words, '--state-dir', state];
      execFile(join(clone, 'moor'), all, { timeout: 30_000 }, (error, out, err) =>
        resolve({ code: error ? Number(error.code) : 0, out, err }),
      );
    });

  it('lists what is kept, and brings it back once', async () => {
    expect(await moor('list')).to.deep.equal({ code: 0, out: `${ID}.1  data  1MiB  kept for 1 minute\n`, err: '' });
    const folder = join(state, 'volumes', ID);
    expect(await moor('restore', `${ID}.1`)).to.include({ code: 0 });
    expect(readFileSync(join(folder, 'file'), 'utf8')).to.equal('kept');
    expect(existsSync(join(folder, 'removed.json'))).to.equal(false);
    expect(existsSync(join(state, `replication-${ID}.json`))).to.equal(true);
    expect(await moor('list')).to.include({ code: 0, out: '' });
    const again = await moor('restore', `${ID}.1`);
    expect([again.code, again.err]).to.deep.equal([1, `moor: no removed volume ${ID}.1 is kept here\n`]);
  });

  it('changes nothing while the agent of the folder runs', async function () {
    const processes = readProcessTable();
    if (!processes) skip(this, 'the processes of this machine cannot be read (run the tests on Linux)');
    const run = { id: '0'.repeat(16), boot: processes.boot, process: processes.self };
    writeFileSync(join(state, 'runs.json'), JSON.stringify([run]));
    const { code, err } = await moor('restore', `${ID}.1`);
    expect([code, err]).to.deep.equal([
      1,
      'moor: the agent of this state folder runs: stop it, restore, and start it again\n',
    ]);
    expect(existsSync(join(state, 'volumes', ID))).to.equal(false);
  });
});
