import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { bundleDashboard } from '../dashboard/bundle/bundle.js';
import { clone, readProductVersion } from '../pkg/version/index.js';
import { LoopbackRegistry } from './loopback-registry.testing.js';

describe('the npm package', function () {
  this.timeout(240_000);

  const folder = mkdtempSync(join(tmpdir(), 'mooring-npm-'));
  const project = join(folder, 'project');
  const state = join(folder, 'state');
  let registry: LoopbackRegistry;

  /** Knows nothing of this clone: no setting of npm, no home, and programs that are started by their name. */
  const run = async (program: string, ...argv: readonly string[]): Promise<string> => {
    const env = {
      PATH: process.env['PATH'],
      HOME: folder,
      XDG_STATE_HOME: state,
      NPM_CONFIG_USERCONFIG: '/dev/null',
      NPM_CONFIG_CACHE: join(folder, 'cache'),
      NPM_CONFIG_REGISTRY: registry.url,
      NPM_CONFIG_AUDIT: 'false',
      NPM_CONFIG_UPDATE_NOTIFIER: 'false',
    };
    const { stdout } = await promisify(execFile)(program, argv, { cwd: project, env });
    return stdout;
  };

  before(async () => {
    registry = await LoopbackRegistry.start();
    mkdirSync(project);
    const assets = join(clone, 'dist', 'dashboard', 'assets');
    await bundleDashboard(assets);
    await run('npm', 'pack', clone, '--ignore-scripts', '--silent');
    const [tarball = ''] = readdirSync(project);
    await run('npm', 'install', '--no-save', `./${tarball}`);
  });

  after(async () => {
    if (existsSync(join(state, 'mooring'))) await run('npx', 'mooring', 'down', '--purge');
    await registry.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('installs with what it needs and nothing of development', () => {
    expect(registry.missing).to.deep.equal([]);
    const installed = readdirSync(join(project, 'node_modules'));
    expect(installed).to.include('mooring');
    expect(installed.filter(name => ['tsx', 'esbuild', 'mocha'].includes(name))).to.deep.equal([]);
    const files = readdirSync(join(project, 'node_modules/mooring'), { recursive: true, encoding: 'utf8' });
    expect(files.filter(file => /\.ts$|\.(?:test|testing|contract)\.js$/.test(file))).to.deep.equal([]);
    expect(files).to.include('dist/dashboard/assets/main.js');
  });

  it('says its version, as moor and as mooring', async () => {
    expect(await run('npx', 'moor', '--version')).to.equal(`${readProductVersion()}\n`);
    expect(await run('npx', 'mooring', 'version')).to.contain(readProductVersion());
  });

  it('starts every program', async () => {
    for (const program of ['server', 'controllers', 'agent', 'bridge'])
      expect(await run('npx', 'moor', program, '--help')).to.contain(`moor ${program}`);
  });

  it('brings everything up with npx mooring up, keeps its data outside of the package, and takes it down', async () => {
    const printed = await run('npx', 'mooring', 'up', '--engine', 'simulated');

    expect(printed).to.contain('Mooring is up').and.contain('npx mooring get deployments').and.not.contain('./moor');
    expect(await run('npx', 'mooring', 'get', 'deployments', '-o', 'name')).to.equal('deployment/demo\n');
    expect(await run('npx', 'mooring', 'get', 'deployments', '-o', 'yaml'), 'what is loaded late').to.contain(
      'name: demo',
    );
    const { server } = JSON.parse(readFileSync(join(state, 'mooring', 'dev.json'), 'utf8')) as { server: string };
    const page = await fetch(`${server}/`);
    expect([page.status, await page.text()].join()).to.match(/^200,.*main\.js/s);

    await run('npx', 'mooring', 'down');
    expect(existsSync(join(state, 'mooring', 'etcd'))).to.equal(true);
    expect(existsSync(join(project, 'node_modules/mooring/.mooring'))).to.equal(false);
  });
});
