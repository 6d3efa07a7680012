import { expect } from 'chai';

import type { StoredEvent } from '../../../crds/event/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

describe('events of changes', () => {
  let lab: ApiLab;
  let token: { readonly text: string; readonly id: string };

  before(async () => {
    lab = await new ApiLab().start();
    const { text, stored } = await lab.token({
      kind: 'tenant',
      tenant: lab.a,
      role: 'admin',
      description: 'ci of shop',
    });
    token = { text, id: stored.id };
  });
  after(() => lab.stop());

  const send = async (method: string, path: string, body?: object, by = token.text, headers = {}) => {
    const answer = await lab.ask(method, `/api/v1/${path}`, { token: by, headers, ...(body && { body }) });
    expect(answer.status, answer.text).to.be.within(200, 202);
  };
  const last = async (type: string) => {
    const { body } = await lab.ask('GET', `/api/v1/events?type=${type}`, { token: token.text });
    return (body['items'] as readonly StoredEvent[]).at(-1);
  };

  it('of a deployment say which fields were changed, from what to what, and by which token', async () => {
    await send('POST', 'deployments', webDeployment('web', { environment: { MODE: 'slow', LEVEL: 'info' } }));
    expect((await last('deployment.created'))?.message).to.equal(
      `deployment web was created by token ${token.id} (ci of shop)`,
    );
    await send('PUT', 'deployments/web', { replicas: 3, environment: { MODE: 'fast', LEVEL: 'info' } });

    const event = await last('deployment.updated');
    expect(event?.message).to.equal(
      `deployment web was changed by token ${token.id} (ci of shop): environment.MODE slow → fast, replicas 2 → 3`,
    );
    expect(event?.data).to.deep.equal({
      generation: 2,
      by: token.id,
      changes: [
        { field: 'environment.MODE', from: 'slow', to: 'fast' },
        { field: 'replicas', from: '2', to: '3' },
      ],
    });
    expect(JSON.stringify(event)).not.to.include(token.text);
    await send('DELETE', 'deployments/web');
    expect(await last('deployment.updated')).to.include({
      reason: 'deletion_requested',
      message: `deployment web is being deleted by token ${token.id} (ci of shop)`,
    });
  });

  it('of secrets name paths, and neither values nor templates', async () => {
    await send('POST', 'deployments', webDeployment('api'));
    const secrets = [
      { name: 'DB', vault_path: 'deployments/api-db', anchor: 'process', values: { password: 'hunter2' } },
    ];
    const composedSecrets = { URL: 'pg://x:{{secret.api-db.password}}@db' };
    await send('PUT', 'deployments/api', { secrets, composedSecrets });

    const event = await last('deployment.updated');
    expect(event?.message).to.include('secrets set to DB=deployments/api-db').and.include('URL set to (hidden)');
    expect(JSON.stringify(event)).not.to.match(/hunter2|secret\.api-db/);
  });

  it('of nodes say who drains and fences them', async () => {
    await lab.token({ kind: 'node', tenant: lab.a, node: 'node_one', nodeName: 'one' });
    for (const [order, type, reason] of [
      ['drain', 'node.draining', 'draining'],
      ['undrain', 'node.undrained', 'undrained'],
      ['fence', 'node.fenced', 'fenced'],
    ] as const) {
      await send('POST', `nodes/one/${order}`);
      const event = await last(type);
      expect(event).to.deep.include({ reason, subject: { kind: 'Node', name: 'one', id: 'node_one' } });
      expect(event?.message).to.include(`by token ${token.id} (ci of shop)`);
      await send('POST', `nodes/one/${order}`);
      expect((await last(type))?.id, 'an order that stands is not told again').to.equal(event?.id);
    }
  });

  it('of quotas are the tenant’s own, and name no token description of the platform', async () => {
    const { text, stored } = await lab.token({ kind: 'admin', description: 'root of all' });
    const headers = { 'x-tenant-id': lab.a };
    await send('PUT', `tenants/${lab.a}/quotas`, { containers: 5, cpu: null }, text, headers);
    expect((await last('quota.changed'))?.message).to.equal(
      `quotas were changed by an administrator of the platform (token ${stored.id}): containers as configured → 5, cpu as configured → unlimited`,
    );
    const other = await lab.tenantToken(lab.b);
    const { body } = await lab.ask('GET', '/api/v1/events?type=quota.changed', { token: other });
    expect(body['items']).to.deep.equal([]);
  });
});
