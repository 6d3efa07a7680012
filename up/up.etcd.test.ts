import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';

import { expect } from 'chai';

import { itDeep } from '../dev/testing/index.js';
import { clone } from '../pkg/version/index.js';
import { Home, readNodeId } from './home/home.js';
import { isAlive } from './machine/os-process.js';

const moorPath = join(clone, 'moor');

describe('moor up, on a real etcd and a simulated engine', function () {
  this.timeout(180_000);

  const home = new Home(mkdtempSync(join(tmpdir(), 'moor-up-')));
  const moor = async (...words: readonly string[]): Promise<string> => {
    const env = { ...process.env, MOORING_HOME: home.folder };
    const { stdout } = await promisify(execFile)(moorPath, words, { env });
    return stdout;
  };
  const readIdentity = (name: string) => home.records.read(name)!.process;
  const readFacts = () => ['server', 'etcd'].map(name => home.records.read(name)!.facts);

  after(() => moor('down', '--purge'));

  it('brings everything up and runs the demo', async () => {
    const printed = await moor('up', '--engine', 'simulated', '--nodes', '2');

    expect(printed).to.contain('Mooring is up');
    expect(await moor('get', 'deployments', '-o', 'name')).to.equal('deployment/demo\n');
    expect(await moor('get', 'nodes', '-o', 'name')).to.equal('node/node-1\nnode/node-2\n');
  });

  it('restarts what was killed, and takes over what still runs', async () => {
    const kept = readIdentity('agent-1');
    const facts = readFacts();
    for (const name of ['server', 'etcd']) process.kill(readIdentity(name).pid, 'SIGKILL');
    process.kill(home.supervisor.read()!.pid, 'SIGKILL');

    await moor('up');

    expect(await moor('get', 'deployments', '-o', 'name')).to.equal('deployment/demo\n');
    // Another program, such as a second `moor up`, may have taken a port meanwhile: then the agents are started for the new one.
    if (isDeepStrictEqual(readFacts(), facts)) expect(readIdentity('agent-1')).to.deep.equal(kept);
    else expect(isAlive(readIdentity('agent-1'))).to.equal(true);
  });

  it('adjusts to another number of nodes', async () => {
    const leaving = readIdentity('agent-2');

    await moor('up', '--nodes', '1', '--no-demo');

    expect([isAlive(leaving), home.records.names().includes('agent-2')]).to.deep.equal([false, false]);
    expect(await moor('get', 'nodes', '-o', 'name')).to.equal('node/node-1\n');
    await moor('status', 'demo', '--until-ready', '--timeout', '20s');
  });

  itDeep('adds a node under the name of one that was removed', async () => {
    await moor('up', '--nodes', '2', '--no-demo');

    expect(await moor('get', 'nodes', '-o', 'name')).to.equal('node/node-1\nnode/node-2\n');
  });

  itDeep('brings a node back whose agent has lost what it knew', async () => {
    writeFileSync(home.path('agents', 'node-2', 'node.json'), '{"no');
    process.kill(readIdentity('agent-2').pid, 'SIGKILL');

    await moor('up', '--nodes', '2', '--no-demo');

    expect(await moor('get', 'nodes', '-o', 'name')).to.equal('node/node-1\nnode/node-2\n');
    expect(readNodeId(home.path('agents', 'node-2'))).to.match(/^node_/);
  });

  itDeep('gives its agents the folders that volumes may be in, as before while nothing else is asked for', async () => {
    const root = mkdtempSync(join(tmpdir(), 'moor-root-'));
    const listRoots = () =>
      readFileSync(`/proc/${readIdentity('agent-1').pid}/cmdline`, 'utf8')
        .split('\0')
        .filter(each => each.startsWith('--bind-root'));
    try {
      expect(listRoots()).to.deep.equal([]);
      await moor('up', '--bind-root', root, '--no-demo');
      expect(listRoots()).to.deep.equal([`--bind-root=${root}`]);
      const kept = readIdentity('agent-1');
      await moor('up', '--no-demo');
      expect(readIdentity('agent-1')).to.deep.equal(kept);
      await moor('up', '--bind-root', '', '--no-demo');
      expect(listRoots()).to.deep.equal([]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it('leaves no process behind after down, and comes up with its data and the new options', async () => {
    const all = home.records.names().map(readIdentity);

    await moor('down');
    expect(all.filter(isAlive)).to.deep.equal([]);

    await moor('up', '--nodes', '1', '--no-demo');
    expect(await moor('get', 'deployments', '-o', 'name')).to.equal('deployment/demo\n');
    expect(await moor('get', 'nodes', '-o', 'name')).to.equal('node/node-1\n');
  });

  itDeep('comes up beside another that is started at the same moment and wants the same ports', async () => {
    const homes = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'moor-up-')));
    const each = (...words: readonly string[]) =>
      Promise.all(
        homes.map(folder =>
          promisify(execFile)(moorPath, words, { env: { ...process.env, MOORING_HOME: folder } }).catch(
            ({ stdout }: { stdout: string }) => ({ stdout }),
          ),
        ),
      );
    await moor('down'); // its ports are free again

    try {
      for (const { stdout } of await each('up', '--engine', 'simulated', '--nodes', '1', '--no-demo'))
        expect(stdout).to.contain('Mooring is up');
    } finally {
      await each('down', '--purge');
    }
  });
});
