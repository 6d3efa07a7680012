import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { clone } from '../pkg/version/index.js';

const moorPath = join(clone, 'moor');

describe('moor up --ephemeral', () => {
  const folder = mkdtempSync(join(tmpdir(), 'moor-ephemeral-'));
  const env = { ...process.env, MOORING_HOME: folder };

  after(() => rmSync(folder, { recursive: true, force: true }));

  it('prints that its engine is simulated and a link that signs a browser in, and writes the logs of its loops', async () => {
    const child = spawn(moorPath, ['up', '--ephemeral'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise(resolve => child.once('exit', resolve));
    let printed = '';
    try {
      for await (const chunk of child.stdout) {
        printed += String(chunk);
        if (printed.includes('Ctrl-C')) break;
      }
      expect(printed).to.contain('simulated').and.contain('no container');
      const [, server, code] = /(http:\/\/127\.0\.0\.1:\d+)\/#\/sign-in\/(\w{43})/.exec(printed) ?? [];
      const body = JSON.stringify({ code });
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
      expect((await fetch(`${server}/api/v1/tokens/sign-in`, init)).status).to.equal(201);

      expect(printed, 'that starts another Mooring beside it').to.not.match(/moor up" prints a new link/);
      const doctor = await promisify(execFile)(moorPath, ['doctor', '--json'], { env }).catch(
        (thrown: unknown) => thrown as { readonly stdout: string },
      );
      const { findings } = JSON.parse(doctor.stdout) as { findings: readonly { area: string; state: string }[] };
      expect(findings.filter(({ area }) => area === 'etcd')).to.have.nested.property('[0].state', 'ok');
      expect(findings.filter(({ area, state }) => area === 'ports' && state === 'problem')).to.deep.equal([]);

      const words = ['logs', '--controllers', 'scheduler', '--no-follow'];
      const { stdout } = await promisify(execFile)(moorPath, words, { env });
      expect(stdout).to.not.equal('');
    } finally {
      child.kill('SIGINT');
      await ended;
    }
  });
});
