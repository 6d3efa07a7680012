import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

describe('a newcomer’s first walk', function () {
  const home = mkdtempSync(join(tmpdir(), 'mooring-walk-'));
  const moor = (...words: string[]): SpawnSyncReturns<string> =>
    spawnSync('./moor', words, { encoding: 'utf8', env: { ...process.env, MOORING_HOME: home, NO_COLOR: '1' } });

  /** Runs a command that must succeed, and answers what it printed. */
  const done = (...words: string[]): string => {
    const { status, stdout, stderr } = moor(...words);
    expect(status, `moor ${words.join(' ')}: ${stdout}${stderr}`).to.equal(0);
    return stdout;
  };

  after(() => {
    moor('down', '--purge');
    rmSync(home, { recursive: true, force: true });
  });

  it('up: everything starts, and the demo runs', () => {
    const printed = done('up');
    expect(printed).to.match(/Mooring is up at http:\/\/127\.0\.0\.1:\d+/);
    expect(done('get', 'deployments')).to.match(/demo\s+1\/1\s+Running/);
  });

  it('up, twice: what runs is left alone', () => {
    const before = done('get', 'deployments', '-o', 'json');
    done('up');
    expect(placements(done('get', 'deployments', '-o', 'json'))).to.deep.equal(placements(before));
  });

  it('apply, and status until it is ready', () => {
    expect(done('apply', '-f', 'examples/web.yaml')).to.match(/deployment\/web created/);
    expect(done('status', 'web', '--watch', '--until-ready', '--timeout', '60s')).to.match(/Running\s+2\/2/);
  });

  it('logs, describe and events say what happened', () => {
    expect(done('logs', 'web')).to.match(/listens on port/);
    expect(done('describe', 'deployment', 'web')).to.match(/Available\s+True/);
    expect(done('events', '--subject', 'web')).to.match(/deployment\.running/);
  });

  it('scale, then delete until nothing is left', () => {
    done('scale', 'web', '3');
    done('status', 'web', '--until-ready', '--timeout', '60s');
    done('delete', 'deployment', 'web');
    expect(done('get', 'deployments', '-o', 'name').trim()).to.equal('deployment/demo');
  });

  it('a refusal shows every reason, and exits with 1', () => {
    const input = JSON.stringify({ kind: 'Deployment', name: 'Web', image: 'nginx:latest', replicas: -1 });
    const { status, stderr, stdout } = spawnSync('./moor', ['apply', '-f', '-'], {
      encoding: 'utf8',
      input,
      env: { ...process.env, MOORING_HOME: home, NO_COLOR: '1' },
    });
    expect(status).to.equal(1);
    for (const code of ['deployment_name_invalid', 'image_required', 'replicas_negative']) {
      expect(stdout + stderr).to.include(code);
    }
  });

  it('down: everything stops, and up goes on with what there was', () => {
    done('down');
    expect(moor('get', 'deployments').status, 'no server is known').to.equal(2);
    done('up', '--no-demo');
    done('status', 'demo', '--until-ready', '--timeout', '60s');
  });
});

function placements(printed: string): unknown {
  const { items } = JSON.parse(printed) as { items: { status: { placements: unknown } }[] };
  return items.map(({ status }) => status.placements);
}
