import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { expect } from 'chai';

import { ranges } from '../crds/keys/index.js';
import { EtcdProcess } from '../dev/processes/index.js';
import { until } from '../dev/testing/index.js';
import { EtcdStore, type LeaderRecord, value } from '../pkg/store/index.js';
import type { SecretStore } from '../pkg/secrets/index.js';
import { programArguments } from '../pkg/version/index.js';
import { createLoops, createSecretLoops } from './list.js';

const LOOPS = createLoops().length + createSecretLoops({} as SecretStore).length;

/** Two controllers processes on a real etcd. Each loop must have a leader all the time, whatever becomes of one of them. */
describe('controllers processes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-controllers-'));
  const started: ChildProcess[] = [];
  let etcd: EtcdProcess;
  let store: EtcdStore;

  before(async () => {
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
  });

  after(async () => {
    for (const child of started) child.kill('SIGKILL');
    await store.close();
    await etcd.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  const start = (...more: string[]): ChildProcess => {
    const argv = [...programArguments('controllers/main.ts'), '--etcd-endpoints', etcd.endpoint, ...more];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'ignore', 'pipe'] });
    started.push(child);
    return child;
  };

  /** Starts a process, and waits until it takes part. */
  const standby = (): Promise<ChildProcess> =>
    new Promise(resolve => {
      const child = start();
      createInterface(child.stderr!).on('line', line => {
        if (line.includes('"controllers started"')) resolve(child);
      });
    });

  const holders = async (): Promise<readonly string[]> =>
    (await store.list(ranges.leaders)).entries.map(entry => value<LeaderRecord>(entry).holder);

  const ledBy = async ({ pid }: ChildProcess): Promise<readonly string[]> =>
    (await holders()).filter(holder => holder.includes(`-${pid}-`));

  const leadsEverything = (child: ChildProcess) =>
    until('every loop to be led by the process', async () => (await ledBy(child)).length === LOOPS);

  it('take over after a kill, at once after a SIGTERM, and leave no leader key behind', async () => {
    const first = await standby();
    await leadsEverything(first);
    const second = await standby();
    expect((await holders()).every(holder => holder.includes(`-${first.pid}-`))).to.equal(true);

    first.kill('SIGKILL');
    await leadsEverything(second);
    const third = await standby();

    second.kill('SIGTERM');
    expect(second.exitCode ?? (await once(second, 'exit'))[0]).to.equal(0);
    expect(await ledBy(second), 'loops whose lease outlives the process').to.deep.equal([]);
    await leadsEverything(third);

    third.kill('SIGTERM');
    await once(third, 'exit');
    expect(await holders()).to.deep.equal([]);
  });

  it('reject an unknown loop name', async () => {
    const child = start('--only', 'no-such-loop');
    expect((await once(child, 'exit'))[0]).to.equal(2);
  });
});
