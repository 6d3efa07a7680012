import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { expect } from 'chai';

import { readCommandBlocks, toScript } from '../lab/page-commands.js';

/** The tutorial first: it is what everybody begins with. */
const files = ['tutorial.md', ...readdirSync('docs/how-to').map(name => `how-to/${name}`)];
const pages = files.map(file => ({ file, blocks: readCommandBlocks(readFileSync(join('docs', file), 'utf8')) }));
const blocks = pages.flatMap(page => page.blocks);
const skipped = blocks.filter(block => block.skipped !== undefined);

describe('the commands of the tutorial and of the guides, from their pages', function () {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-guides-'));
  const home = join(folder, 'home');
  const env = {
    ...process.env,
    MOORING_HOME: home,
    HOME: folder,
    NO_COLOR: '1',
    PATH: `${folder}/bin:${process.env['PATH']}`,
  };
  const run = (cwd: string, script: string) =>
    spawnSync('sh', ['-c', script], { cwd, env, encoding: 'utf8', timeout: 280_000, killSignal: 'SIGKILL' });

  before(() => {
    mkdirSync(join(folder, 'bin'));
    symlinkSync(resolve('moor'), join(folder, 'bin/moor'));
    const { status, stdout, stderr } = run(folder, 'moor up --nodes 2 --no-demo');
    expect(status, stdout + stderr).to.equal(0);
  });
  after(() => {
    run(folder, 'moor down --purge');
    rmSync(folder, { recursive: true, force: true });
  });

  it('are run, or say why not, and the front page counts both', () => {
    const counted = `${blocks.length - skipped.length} are run by a test, from the page itself, and ${skipped.length} are not`;
    expect(readFileSync('docs/README.md', 'utf8')).to.contain(counted);
  });

  for (const page of pages) {
    it(`${page.file}: ${page.blocks.filter(block => block.skipped === undefined).length} blocks`, () => {
      const part = JSON.parse(readFileSync(join(home, 'run/part-registry.json'), 'utf8')) as {
        facts: { registry: string };
      };
      const script = toScript(page.blocks, { '127.0.0.1:7071': part.facts.registry });
      const cwd = mkdtempSync(join(folder, 'page-'));
      const { status, stdout, stderr } = run(cwd, script);
      expect(status, `${stdout.slice(-3000)}\n${stderr.slice(-3000)}`).to.equal(0);
    });
  }
});
