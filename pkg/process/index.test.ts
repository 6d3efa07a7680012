import { spawnSync } from 'node:child_process';

import { expect } from 'chai';

import { toScriptArguments } from '../../dev/testing/index.js';
import { clone } from '../version/index.js';

const door = new URL('./index.js', import.meta.url).href;

/** Runs `body` as the `run` of a process of its own. */
function runChild(body: string, ...argv: string[]) {
  const program = `
    const { readSettings, runProcess } = await import(${JSON.stringify(door)});
    await runProcess('test', readSettings('moor test', { only: 'run only these' }), async (settings, env, signal) => {
      ${body}
    });`;
  const { status, stdout, stderr } = spawnSync(process.execPath, toScriptArguments(program, 'test', ...argv), {
    encoding: 'utf8',
    cwd: clone,
    env: { ...process.env, MOORING_CONFIG: '' },
  });
  return { status, stdout, stderr };
}

describe('process runner', function () {
  this.timeout(60_000);

  it('ends with 0 after SIGTERM when the process stopped in order', () => {
    const body = `
      signal.addEventListener('abort', () => console.log('closing'));
      process.kill(process.pid, 'SIGTERM');
      await new Promise(resolve => signal.addEventListener('abort', resolve));
      env.log.info('test stopped');`;
    const { status, stdout, stderr } = runChild(body);
    expect([status, stdout]).to.deep.equal([0, 'closing\n']);
    expect(JSON.parse(stderr)).to.include({ process: 'test', message: 'test stopped' });
  });

  it('passes settings and further options to the process', () => {
    const { stdout } = runChild('console.log(settings.listen, settings.options.only);', '--listen', 'a:1', '--only=x');
    expect(stdout).to.equal('a:1 x\n');
  });

  it('prints the options and settings for --help and does not run the process', () => {
    const { status, stdout } = runChild(`console.log('ran');`, '--help');
    expect(status).to.equal(0);
    expect(stdout).to.include('--only <value>').and.to.include('--etcd-endpoints <value>').and.not.to.include('ran');
  });

  it('ends with 2 when an argument cannot be used', () => {
    const { status, stderr } = runChild('', '--no-such-option', '1');
    expect([status, stderr]).to.deep.equal([2, 'test: there is no option --no-such-option\n']);
  });

  it('ends with 1 when the process fails, even while timers are pending', () => {
    const { status, stderr } = runChild(`setInterval(() => undefined, 1_000); throw new Error('it broke');`);
    expect([status, stderr]).to.deep.equal([1, 'test: it broke\n']);
  });
});
