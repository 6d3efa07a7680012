import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { SimulatedEngine } from '../pkg/agent/index.js';
import { type DeploymentView, assessReadiness } from '../crds/deployment/index.js';
import { Client } from '../pkg/client/index.js';
import { systemClock, systemRandom } from '../pkg/clock/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { findFreePort } from '../dev/processes/index.js';
import { type InMemoryMooring, startInMemory } from './in-memory.js';

describe('Mooring in one process', () => {
  const env = { clock: systemClock, random: systemRandom };
  const engine = new SimulatedEngine({ ...env, healthyAfterMs: 10 });
  let folder: string;
  let mooring: InMemoryMooring;
  let client: Client;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moor-in-memory-'));
    mooring = await startInMemory({ ...env, log: silentLogger, engine, folder, nodes: 2, port: await findFreePort() });
    client = new Client({ server: mooring.url, token: mooring.access.tenantToken });
  });

  after(async () => {
    client.close();
    await mooring.stop();
    rmSync(folder, { recursive: true });
  });

  /** Follows a deployment until it is ready. */
  const untilReady = async (name: string): Promise<DeploymentView> => {
    for await (const change of client.watch<DeploymentView>('/api/v1/deployments')) {
      if (change.type === 'refused') throw new Error(change.refusal.rejections[0].code);
      if (change.type !== 'bookmark' && change.object.name === name && assessReadiness(change.object) === 'yes')
        return change.object;
    }
    throw new Error('the watch ended');
  };

  it('runs a deployment, spread over its nodes', async () => {
    const body = { kind: 'Deployment', name: 'web', image: 'registry.example.com/web:1.0.0', replicas: 2 };
    expect((await client.request('POST', '/api/v1/deployments', { body })).ok).to.equal(true);

    const { status } = await untilReady('web');

    expect(new Set(status?.placements.map(({ nodeId }) => nodeId)).size).to.equal(2);
  });

  it('scales and deletes a deployment', async () => {
    await client.request('PUT', '/api/v1/deployments/web', { body: { replicas: 3 } });
    expect((await untilReady('web')).status?.readyReplicas).to.equal(3);

    await client.request('DELETE', '/api/v1/deployments/web');
    for await (const change of client.watch<DeploymentView>('/api/v1/deployments')) {
      if (change.type === 'deleted') break;
      if (change.type === 'bookmark' && (await client.request('GET', '/api/v1/deployments/web')).status === 404) break;
    }
    const nodes = await client.all<{ readonly id: string }>('/api/v1/nodes');
    const left = nodes.ok ? await Promise.all(nodes.value.items.map(({ id }) => engine.list(id))) : [];
    expect(left.flat()).to.deep.equal([]);
  });
});
