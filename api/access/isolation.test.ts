import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import { create } from '../../pkg/store/index.js';
import { ApiLab, type LabResponse, webDeployment } from '../api-lab.testing.js';

/** What an answer says, apart from what differs from request to request and the name that was asked for. */
function said({ status, text, headers }: LabResponse, name: string): string {
  const kept = [...headers].filter(([header]) => header !== 'x-request-id' && header !== 'date');
  return JSON.stringify([status, kept.map(([header, value]) => `${header}: ${value}`), text]).replaceAll(name, '*');
}

const bodies: Readonly<Record<string, { readonly body: unknown }>> = {
  'POST /api/v1/deployments/{name}/secrets/rotate': { body: { phase: 'stage' } },
  'POST /api/v1/deployments/{name}/canary': { body: { action: 'promote' } },
  'PUT /api/v1/deployments/{name}/scaling': { body: { minReplicas: 1, maxReplicas: 2, targetCpuPercent: 50 } },
  'POST /api/v1/archives/deployments/{name}/rollback': { body: { revision: 1 } },
  'PATCH /api/v1/dvm/volumes/{id}': { body: { sizeBytes: 2 ** 21 } },
  'POST /api/v1/dvm/recommendations/{id}/apply': { body: { parameters: {} } },
  'POST /api/v1/tenants/{tenant}/volumes/{id}/replicas': { body: { node_id: 'machine-1' } },
  'POST /api/v1/tenants/{tenant}/volumes/{id}/move': { body: { node: 'machine-1' } },
};

describe('isolation of tenants', () => {
  let lab: ApiLab;
  let a: string;
  const theirs: Record<string, { foreign: string; absent: string }> = {};
  before(async () => {
    lab = await new ApiLab().start();
    a = await lab.tenantToken(lab.a);
    const b = await lab.tenantToken(lab.b);
    const made = await lab.ask('POST', '/api/v1/deployments', { token: b, body: webDeployment('secret') });
    const { uid } = made.body['metadata'] as { uid: string };
    const token = await lab.ask('POST', '/api/v1/tokens', { token: b, body: {} });
    theirs['name'] = { foreign: 'secret', absent: 'absent' };
    theirs['uid'] = { foreign: uid, absent: `dep_${'7'.repeat(26)}` };
    theirs['id'] = { foreign: token.body['id'] as string, absent: 'AAAAAAAAAAAAAAAA' };
    await lab.ask('PUT', '/api/v1/secrets/deployments/secret', { token: b, body: { values: { a: 'b' } } });
    theirs['resource'] = theirs['name'];
    const backup = await lab.ask('POST', '/api/v1/backups', { token: b, body: { deploymentName: 'secret' } });
    theirs['backupId'] = { foreign: backup.body['id'] as string, absent: `bak_${'7'.repeat(26)}` };
    const scratch = { name: 'secret', class: 'ephemeral', sizeBytes: 2 ** 20 };
    const volume = await lab.ask('POST', '/api/v1/dvm/volumes', { token: b, body: scratch });
    theirs['volumeId'] = { foreign: volume.body['id'] as string, absent: `vol_${'7'.repeat(26)}` };
    theirs['snap'] = { foreign: 'snap_1', absent: 'snap_2' };
    await theirNode();
    theirs['nodeName'] = theirs['name'];
    theirs['node_id'] = theirs['nodeId']!;
    theirs['tenant'] = { foreign: lab.b, absent: '11111111-1111-4111-8111-111111111111' };
  });
  after(() => lab.stop());

  async function theirNode(): Promise<void> {
    const id = `node_${'1'.repeat(26)}`;
    const metadata = { tenant: lab.b, uid: id, generation: 1, createdAt: '', updatedAt: '', specHash: '' };
    const capacity = { cpu: 1000, memory: 2 ** 30, disk: 2 ** 30 };
    const agent = { publicKey: '', agentVersion: '', controlPlane: false };
    const node: StoredNode = { metadata, id, name: 'secret', labels: {}, capacity, ...agent };
    await create(lab.store, keys.nodeName('secret'), { claims: [{ tenant: lab.b, since: '' }] });
    await create(lab.store, keys.node(lab.b, 'secret'), node);
    await lab.cache.barrier();
    theirs['nodeId'] = { foreign: id, absent: `node_${'7'.repeat(26)}` };
  }

  it('answers a name or id of another tenant exactly like one that does not exist, on every route', async () => {
    let compared = 0;
    for (const { method, path, access, face } of lab.api.routes) {
      if (face) continue; // names tenants in its paths, and has a test of its own
      const parameter = [...path.matchAll(/\{([^}]*)\}/g)].at(-1)?.[1];
      // A secret that is written is the writer's own, whatever others have.
      const makesOwn = method === 'PUT' && parameter === 'resource';
      const isNeverDone = method === 'POST' && path.endsWith('/snapshots'); // whoever asks, and for whatever
      if (parameter === undefined || makesOwn || isNeverDone || /^\/(?:docs|assets|agent)\//.test(path)) continue;
      const ids = { nodes: 'nodeId', backups: 'backupId', dvm: 'volumeId', tenants: 'volumeId' } as const;
      const idOf = parameter === 'id' ? ids[path.split('/')[3] as keyof typeof ids] : undefined;
      for (const which of parameter === 'name' ? ['name', 'uid'] : [idOf ?? parameter]) {
        const pair = theirs[which];
        expect(pair, `${path} has no foreign id in this test`).to.not.equal(undefined);
        const ask = (id: string) =>
          lab.ask(
            method,
            path.replace(`{${parameter}}`, id).replace('{namespace}', 'deployments').replace('{tenant}', 'self'),
            {
              token: a,
              headers: { 'x-tenant-id': lab.a },
              ...(bodies[`${method} ${path}`] ?? (method === 'PUT' ? { body: { replicas: 0 } } : {})),
            },
          );
        const foreign = await ask(pair!.foreign);
        const absent = await ask(pair!.absent);

        const isPlatforms = access !== 'open' && access.tenant === undefined;
        expect(foreign.status, `${method} ${path}`).to.equal(isPlatforms ? 403 : 404);
        expect(said(foreign, pair!.foreign), `${method} ${path}`).to.equal(said(absent, pair!.absent));
        compared++;
      }
    }
    expect(compared).to.be.at.least(8);
  });

  it('[4.2 4.25] shows nothing of another tenant in any list', async () => {
    const b = await lab.tenantToken(lab.b);
    const lists = ['deployments', 'events', 'nodes', 'tokens', 'backups', 'dvm/volumes'].map(kind => `/api/v1/${kind}`);
    for (const path of lists) {
      const { status, text } = await lab.ask('GET', path, { token: a });

      const own = await lab.ask('GET', path, { token: b });
      expect(own.body['items'], path).to.not.deep.equal([]);
      expect(status, path).to.equal(200);
      expect(text, path).to.not.include(lab.b);
      expect(text, path).to.not.include('secret');
    }
  });

  it('lets two tenants use one name', async () => {
    const own = await lab.ask('POST', '/api/v1/deployments', {
      token: a,
      body: webDeployment('secret', { replicas: 9 }),
    });

    expect(own.status).to.equal(201);
    const b = await lab.tenantToken(lab.b);
    expect((await lab.ask('GET', '/api/v1/deployments/secret', { token: b })).body['replicas']).to.equal(2);
    await lab.ask('DELETE', '/api/v1/deployments/secret', { token: a });
    expect((await lab.ask('GET', '/api/v1/deployments/secret', { token: b })).body['metadata']).to.not.have.property(
      'deletedAt',
    );
  });
});
