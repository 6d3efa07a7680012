import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { itDeep } from '../../dev/testing/index.js';

interface Development {
  readonly server: string;
  readonly tokens: { readonly tenant: string };
}

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

  const applied = (document: object): SpawnSyncReturns<string> =>
    spawnSync('./moor', ['apply', '-f', '-'], {
      encoding: 'utf8',
      input: JSON.stringify(document),
      env: { ...process.env, MOORING_HOME: home, NO_COLOR: '1' },
    });

  after(() => {
    moor('down', '--purge');
    rmSync(home, { recursive: true, force: true });
  });

  it('up: everything starts, and the demo runs', () => {
    const printed = done('up');
    expect(printed).to.match(/Mooring is up at http:\/\/127\.0\.0\.1:\d+/);
    expect(done('get', 'deployments')).to.match(/demo\s+1\/1\s+Running/);
  });

  itDeep('up, twice: what runs is left alone', () => {
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

  itDeep('scale, then delete until nothing is left', () => {
    done('scale', 'web', '3');
    done('status', 'web', '--until-ready', '--timeout', '60s');
    done('delete', 'deployment', 'web');
    expect(done('get', 'deployments', '-o', 'name').trim()).to.equal('deployment/demo');
  });

  itDeep('a secret reaches the container that refers to it', async () => {
    const { server, tokens } = JSON.parse(readFileSync(join(home, 'dev.json'), 'utf8')) as Development;
    const headers = { authorization: `Bearer ${tokens.tenant}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ generate: { keys: ['password'] } });
    const written = await fetch(`${server}/api/v1/secrets/deployments/walk-db`, { method: 'PUT', headers, body });
    expect(written.status).to.be.oneOf([200, 201]);

    const { image } = JSON.parse(done('get', 'deployments', 'demo', '-o', 'json')) as { image: string };
    const secrets = [{ name: 'DB', vault_path: 'deployments/walk-db', anchor: 'process' }];
    const command = ['sh', '-c', 'trap "exit 0" TERM; echo "${#DB_password} characters"; sleep 1000 & wait'];
    expect(applied({ kind: 'Deployment', name: 'walk', image, secrets, command }).status).to.equal(0);
    done('status', 'walk', '--until-ready', '--timeout', '60s');
    expect(done('logs', 'walk')).to.match(/^43 characters/);
    done('delete', 'deployment', 'walk');
  });

  it('a refusal shows every reason, and exits with 1', () => {
    const refused = applied({ kind: 'Deployment', name: 'Web', image: 'nginx:latest', replicas: -1 });
    const { status, stderr, stdout } = refused;
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
