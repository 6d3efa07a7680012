import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import type { DeploymentStatus } from '../crds/deployment/index.js';
import { EtcdProcess, findFreePort } from '../dev/processes/index.js';
import { until } from '../dev/testing/index.js';
import { SimulatedEngine } from '../pkg/agent/index.js';
import { Client } from '../pkg/client/index.js';
import { systemClock, systemRandom } from '../pkg/clock/index.js';
import { previewRestore } from '../pkg/link/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { EtcdStore } from '../pkg/store/index.js';
import { clone } from '../pkg/version/index.js';
import { type InMemoryMooring, startInMemory } from './in-memory.js';

const command = join(clone, 'moor');

interface DeploymentAnswer {
  readonly environment?: Readonly<Record<string, string>>;
  readonly metadata: { readonly generation: number };
  readonly status: DeploymentStatus | null;
}

interface NodeAnswer {
  readonly conditions: readonly { readonly type: string; readonly status: string }[];
}

describe('a restored etcd', function () {
  this.timeout(240_000); // every command is a process of its own

  const env = { clock: systemClock, random: systemRandom };
  const engine = new SimulatedEngine({ ...env, latencyMs: () => 20 });
  let folder: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;
  let mooring: InMemoryMooring;
  let client: Client;
  /** The most containers that one slot has had at once. */
  let most = 0;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moor-restore-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
    const port = await findFreePort();
    mooring = await startInMemory({ ...env, log: silentLogger, engine, folder, nodes: 1, port, store });
    client = new Client({ server: mooring.url, token: mooring.access.tenantToken });
  });

  after(async () => {
    client.close();
    await mooring.stop();
    await store.close();
    await etcd.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  const etcdctl = (...words: readonly string[]) =>
    execFileSync('etcdctl', words, { env: { ...process.env, ETCDCTL_API: '3' }, stdio: 'pipe' });
  const write = async (name: string, round: string) => {
    const body = { kind: 'Deployment', name, image: 'registry.example.com/web:1', replicas: 2, environment: { round } };
    const path = '/api/v1/deployments';
    const made = await client.request('POST', path, { body });
    if (!made.ok) expect((await client.request('PUT', `${path}/${name}`, { body })).ok).to.equal(true);
  };
  const countContainers = () => {
    const slots = new Map<string, number>();
    for (const { owner, state } of engine.containers) {
      const slot = `${owner.deploymentUid}/${owner.slot}`;
      if (state === 'running') slots.set(slot, (slots.get(slot) ?? 0) + 1);
    }
    most = Math.max(most, 0, ...slots.values());
  };
  const reaches = (name: string, what: string, isReached: (shown: DeploymentAnswer) => boolean) =>
    until(`${name} to be ${what}`, async () => {
      countContainers();
      const answer = await client.request<DeploymentAnswer>('GET', `/api/v1/deployments/${name}`);
      return answer.ok && isReached(answer.value);
    });
  const runs = (name: string, round: string) =>
    reaches(name, `running ${round}`, ({ environment, metadata, status }) => {
      const isCurrent = status?.observedGeneration === metadata.generation && status.phase === 'Running';
      return isCurrent && environment?.['round'] === round;
    });

  const readRevision = async () => {
    const list = await client.request<{ readonly revision: string }>('GET', '/api/v1/deployments');
    return list.ok ? list.value.revision : '';
  };
  const watchAfter = async (cursor: string) => {
    const url = `${mooring.url}/api/v1/deployments?watch=true&after=${cursor}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${mooring.access.tenantToken}` } });
    await answer.body?.cancel();
    return answer.status;
  };

  it('is taken by agents once the restore is declared, with never two containers of a slot', async () => {
    for (const name of ['kept', 'changed', 'deleted']) await write(name, 'first');
    for (const name of ['kept', 'changed', 'deleted']) await runs(name, 'first');
    const backup = join(folder, 'backup.db');
    etcdctl('--endpoints', etcd.endpoint, 'snapshot', 'save', backup);
    await write('changed', 'second');
    await write('later', 'second');
    await client.request('DELETE', '/api/v1/deployments/deleted');
    await runs('changed', 'second');
    await runs('later', 'second');

    const abandoned = await readRevision();
    await etcd.kill('SIGKILL');
    rmSync(join(folder, 'data'), { recursive: true });
    etcdctl('snapshot', 'restore', backup, '--data-dir', join(folder, 'data'));
    await etcd.restart();
    const before = engine.containers.map(({ id }) => id).toSorted();
    await until('the agent to hold', async () => {
      const nodes = await client.request<{ readonly items: readonly NodeAnswer[] }>('GET', '/api/v1/nodes');
      const held = nodes.ok ? nodes.value.items.flatMap(({ conditions }) => conditions) : [];
      return held.some(({ type, status }) => type === 'StoreCurrent' && status === 'False');
    });
    const listGoing = async () =>
      (await previewRestore(store)).nodes.flatMap(({ setBack }) => setBack?.containers ?? []);
    await until('what would go to be known', async () => (await listGoing()).includes('later/1'));
    const restore = (...words: readonly string[]) => {
      const argv = ['admin', 'restore', ...words, '--etcd-endpoints', etcd.endpoint];
      return new Promise<{ readonly status: number; readonly stdout: string; readonly stderr: string }>(end => {
        execFile(command, argv, (error, stdout, stderr) =>
          end({ status: error ? Number(error.code) : 0, stdout, stderr }),
        );
      });
    };
    const { stdout: shown } = await restore('--preview');
    expect(shown).to.contain('later/0, later/1').and.to.contain('Nothing was declared');
    const unasked = await restore();
    expect([unasked.status, unasked.stdout]).to.deep.equal([1, shown]);
    expect(unasked.stderr).to.match(/not declared:.*--confirm/);
    const other = await restore('--confirm', '0123456789abcdef');
    expect([other.status, other.stderr]).to.deep.equal([
      1,
      'not declared: What the nodes report is not what was shown, or has changed since: nothing was declared. Look at it again with --preview.\n',
    ]);
    expect(engine.containers.map(({ id }) => id).toSorted(), 'what runs before it is declared').to.deep.equal(before);

    const [, digest = ''] = /--confirm ([0-9a-f]{16})$/m.exec(shown) ?? [];
    const declared = await restore('--confirm', digest);
    expect(declared.stdout, declared.stderr).to.contain('the restore is declared');
    for (const name of ['kept', 'changed', 'deleted']) await runs(name, 'first');
    await until('the containers of what was created later to go', () => {
      countContainers();
      return engine.containers.length === 6;
    });
    expect((await restore()).stdout, 'where nothing would go').to.contain('the restore is declared');
    expect(most, 'containers of one slot').to.equal(1);
    await write('changed', 'third');
    await runs('changed', 'third');
    expect(most, 'containers of one slot').to.equal(1);

    for (let round = 0; Number.parseInt(await readRevision(), 10) <= Number(abandoned); round++) {
      await write('kept', `round ${round}`);
    }
    expect(await watchAfter(abandoned), 'a cursor of the abandoned history').to.equal(410);
    expect(await watchAfter(await readRevision())).to.equal(200);
  });
});
