import { expect } from 'chai';

import { listHostileKeys } from '../dev/testing/index.js';
import { encode } from '../pkg/store/index.js';
import { ApiLab, webDeployment } from './api-lab.testing.js';

const AT = '2030-01-01T00:00:00.000Z';

describe('the API beside a malformed key in every range', () => {
  let lab: ApiLab;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    for (const key of listHostileKeys(lab.a)) {
      const metadata = { tenant: lab.a, uid: 'u', generation: 1, createdAt: AT, updatedAt: AT, specHash: '' };
      const document = { metadata, uid: 'u', id: 'u', name: 'u', tenant: lab.a, code: 'c', live: [1], last: 1 };
      await lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    }
    await lab.cache.barrier();
  });
  afterEach(() => lab.stop());

  it('answers every read and takes every write', async () => {
    const token = await lab.tenantToken(lab.a);
    const admin = (await lab.token({ kind: 'admin' })).text;
    const agent = await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'n1' });
    const ask = async (method: string, path: string, options: object = {}) => {
      const answer = await lab.ask(method, path, { token, ...options });
      expect(answer.status, `${method} ${path}: ${answer.text.slice(0, 300)}`).to.be.lessThan(300);
      return answer;
    };
    const secrets = [{ name: 'DB', vault_path: 'deployments/db', anchor: 'process', rotation: 'restart' }];
    const volume = {
      name: 'data',
      class: 'ephemeral',
      type: 'volume',
      sizeBytes: 2 ** 20,
      accessMode: 'ReadWriteOnce',
    };
    await ask('PUT', '/api/v1/secrets/deployments/db', { body: { values: { password: 'p' } } });
    const made = await ask('POST', '/api/v1/dvm/volumes', { body: volume });
    await ask('POST', '/api/v1/deployments', { body: webDeployment('web', { secrets }) });
    await ask('POST', '/api/v1/backups', { body: { deploymentName: 'web' } });
    const beat = { labels: {}, capacity: { cpu: 1000, memory: 2 ** 30, disk: 2 ** 30 }, agentVersion: '0.1.0' };
    await ask('POST', '/agent/v1/heartbeat', { token: agent.text, body: beat });
    const kinds = ['deployments', 'jobs', 'networks', 'nodes', 'backups', 'events', 'secrets', 'tokens'];
    for (const kind of kinds) await ask('GET', `/api/v1/${kind}`);
    const { items } = (await ask('GET', '/api/v1/dvm/volumes')).body;
    expect(items).to.have.length(1);
    await ask('GET', '/api/v1/deployments/web/explain');
    await ask('GET', '/api/v1/secrets/resources');
    await ask('GET', '/api/v1/archives/deployments/web');
    await ask('GET', `/api/v1/tenants/${lab.a}/quotas`);
    for (const path of ['/api/v1/tenants', `/api/v1/tenants/${lab.a}/remains`])
      await ask('GET', path, { token: admin });
    for (const face of ['api/v1/events', 'apis/mooring.io/v1/deployments']) await ask('GET', `/k8s/${face}`);
    await ask('DELETE', `/api/v1/dvm/volumes/${String(made.body['id'])}`);
    await ask('DELETE', '/api/v1/deployments/web');
  });
});
