import { execFile } from 'node:child_process';
import { join } from 'node:path';

import { expect } from 'chai';

import { clone } from '../version/index.js';

const moorPath = join(clone, 'moor');

interface ProgramOutcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function moor(...words: readonly string[]): Promise<ProgramOutcome> {
  return new Promise(resolve => {
    execFile(moorPath, words, { timeout: 30_000, env: { ...process.env, CI: 'true' } }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    );
  });
}

describe('servers started with moor', () => {
  for (const { words, named } of [
    { words: ['server', '--bogus', 'x'], named: '--bogus' },
    { words: ['controllers', '--bogus', 'x'], named: '--bogus' },
    { words: ['controllers', '--only', 'scheduler,nope'], named: 'nope' },
    { words: ['bridge', '--namespace', 'team=x'], named: 'NAMESPACE=TENANT' },
    { words: ['agent', '--server', 'http://127.0.0.1:1', '--bogus', 'x'], named: '--bogus' },
  ]) {
    it(`exit with 2 and name ${named} for ${words.join(' ')}`, async () => {
      const { code, err } = await moor(...words);

      expect(code).to.equal(2);
      expect(err).to.contain(named);
    });
  }

  for (const { program, option } of [
    { program: 'server', option: '--bootstrap-file' },
    { program: 'controllers', option: '--only' },
    { program: 'agent', option: '--state-dir' },
    { program: 'bridge', option: '--kubeconfig' },
  ]) {
    it(`print the options of ${program} for --help`, async () => {
      const { code, out } = await moor(program, '--help');

      expect(code).to.equal(0);
      expect(out).to.contain(option);
    });
  }
});

describe('moor whose output is a pipe', () => {
  it('writes no colours, also where CI is set', async () => {
    const { code, err } = await moor('get', 'nodes', '--server', 'http://127.0.0.1:1');

    expect(code).to.be.greaterThan(0);
    expect(err).to.match(/^moor: http:/);
  });
});
