import { expect } from 'chai';

import type { StoredEvent } from '../../../crds/event/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNetwork } from '../../../crds/network/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { create, value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';
import { WatchReader } from '../../watch/watch-reader.testing.js';

const NODE = `node_${'1'.repeat(26)}`;

describe('networks over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  let agent: string;

  beforeEach(async () => {
    lab = await new ApiLab({ settings: { quotas: ['networks=3'] } }).start();
    token = await lab.tenantToken(lab.a, 'deployer');
    agent = (await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName: 'machine-1' })).text;
  });
  afterEach(() => lab.stop());

  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    lab.ask(method, `/api/v1/${path}`, { token, headers, ...(body !== undefined && { body }) });
  const accept = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body);
    expect(answer.status, answer.text).to.be.below(300);
    await lab.cache.barrier();
    return answer;
  };
  const stored = (name: string) => {
    const entry = lab.cache.get(keys.network(lab.a, name));
    return entry && value<StoredNetwork>(entry);
  };
  const listKeys = async () => (await lab.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`);
  const remove = async (key: string) => {
    const entry = (await lab.store.get(key))!;
    await lab.store.commit({ guards: [{ key, at: entry.revision }], puts: [], deletes: [key] });
    await lab.cache.barrier();
  };

  it('[2.8.6 4.32] are stored on the only node, shown, listed and announced', async () => {
    const made = await accept('POST', 'networks', { name: 'backend', labels: { team: 'shop' }, internal: true });
    expect(made.status).to.equal(201);
    expect(made.headers.get('location')).to.equal('/api/v1/networks/backend');
    expect(made.body).to.deep.include({
      name: 'backend',
      driver: 'bridge',
      internal: true,
      nodeId: NODE,
      status: null,
    });
    expect((made.body['alterations'] as { field: string }[]).map(({ field }) => field)).to.deep.equal([
      'driver',
      'nodeId',
    ]);

    const shown = await accept('GET', 'networks/backend');
    expect(shown.body).to.deep.include({ name: 'backend', labels: { team: 'shop' }, nodeId: NODE, status: null });
    expect(shown.headers.get('etag')).to.equal(made.headers.get('etag'));
    const { items } = (await accept('GET', 'networks')).body as { items: { name: string }[] };
    expect(items.map(({ name }) => name)).to.deep.equal(['backend']);
    const events = (await lab.store.list(ranges.events)).entries.map(entry => value<StoredEvent>(entry));
    expect(events.map(({ type, subject }) => [type, subject.name])).to.deep.equal([['network.created', 'backend']]);
  });

  it('change nothing in a dry run', async () => {
    const before = await listKeys();
    const { body } = await accept('POST', 'networks?dryRun=true', { name: 'backend' });
    expect(body).to.deep.include({ dryRun: true, change: 'create' });
    expect(await listKeys()).to.deep.equal(before);
    await accept('POST', 'networks', { name: 'backend' });
    const after = await listKeys();
    expect((await accept('DELETE', 'networks/backend?dryRun=true')).body).to.deep.include({ change: 'delete' });
    expect(await listKeys()).to.deep.equal(after);
  });

  it('are not overwritten, and not more than the quota', async () => {
    await accept('POST', 'networks', { name: 'one' });
    const again = await ask('POST', 'networks', { name: 'one', internal: true });
    expect([again.status, again.body['code'], again.body['field']]).to.deep.equal([
      409,
      'resource_already_exists',
      'name',
    ]);

    const answers = await Promise.all(['two', 'three', 'four', 'five'].map(name => ask('POST', 'networks', { name })));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(2);
    const refused = answers.find(({ status }) => status === 409);
    expect([refused?.body['code'], refused?.body['field']]).to.deep.equal(['quota_reached', 'name']);
    expect(lab.cache.list(ranges.networks)).to.have.length(3);
  });

  it('belong to a tenant: another one neither sees nor deletes nor meets them', async () => {
    await accept('POST', 'networks', { name: 'backend' });
    const other = await lab.tenantToken(lab.b);
    for (const method of ['GET', 'DELETE']) {
      const answer = await lab.ask(method, '/api/v1/networks/backend', { token: other });
      expect([answer.status, answer.body['code']]).to.deep.equal([404, 'resource_not_found']);
    }
    const { body } = await lab.ask('GET', '/api/v1/networks', { token: other });
    expect(body['items']).to.deep.equal([]);
  });

  it('are watched with their status', async () => {
    const url = `${lab.server.url}/api/v1/networks?watch=true`;
    const watch = await WatchReader.open(url, { authorization: `Bearer ${token}` });
    const next = async (type: string) => {
      for (;;) {
        const [line] = await watch.take(1);
        if (line?.type === type) return line.object;
      }
    };
    await next('bookmark');
    await accept('POST', 'networks', { name: 'backend' });
    expect(await next('added')).to.include({ name: 'backend', status: null });
    const status = { uid: stored('backend')!.metadata.uid, state: 'ready' };
    await create(lab.store, keys.networkStatus(lab.a, 'backend'), status);
    expect(await next('modified')).to.deep.include({ name: 'backend', status });
    await accept('DELETE', 'networks/backend');
    expect(await next('deleted')).to.include({ name: 'backend' });
    watch.close();
  });

  it('are not deleted while something joins them, or a container of it is left', async () => {
    await accept('POST', 'networks', { name: 'backend' });
    await accept('POST', 'deployments', webDeployment('web', { networks: ['backend'] }));
    const refuse = async (users: string) => {
      const before = await listKeys();
      const { status, body } = await ask('DELETE', 'networks/backend');
      expect([status, body['code'], body['field']]).to.deep.equal([409, 'network_in_use', 'name']);
      expect(body['expected']).to.contain(users);
      expect(await listKeys()).to.deep.equal(before);
    };
    await refuse('joined by web');

    const replica = { uid: 'rep_1', tenant: lab.a, deployment: 'old', template: { image: 'i', networks: ['backend'] } };
    await create(lab.store, keys.replica(lab.a, 'old', 0), replica as unknown as Replica);
    await lab.cache.barrier();
    await refuse('joined by old, web');
    await accept('PUT', 'deployments/web', { networks: null });
    await refuse('joined by old');
    await remove(keys.replica(lab.a, 'old', 0));
    await accept('DELETE', 'networks/backend');
    expect(stored('backend')).to.equal(undefined);
    const gone = await ask('DELETE', 'networks/backend');
    expect([gone.status, gone.body['code']]).to.deep.equal([404, 'resource_not_found']);
  });

  it('are deleted or joined at one moment, never both', async () => {
    for (let round = 0; round < 20; round++) {
      await accept('POST', 'networks', { name: 'backend' });
      const name = `web-${round}`;
      const [joined, deleted] = await Promise.all([
        ask('POST', 'deployments', webDeployment(name, { networks: ['backend'] })),
        ask('DELETE', 'networks/backend'),
      ]);
      const outcome = `${joined.status} ${deleted.status}`;
      expect(['201 409', '422 200'], `${joined.text} ${deleted.text}`).to.include(outcome);
      if (joined.status === 201) {
        await remove(keys.deployment(lab.a, name));
        await accept('DELETE', 'networks/backend');
      }
    }
  });

  it('are reported on by the agent of their node, and by no other', async () => {
    await accept('POST', 'networks', { name: 'backend' });
    const { uid } = stored('backend')!.metadata;
    const report = async (from: string, networks: unknown) => {
      const answer = await lab.ask('POST', '/agent/v1/networks', { token: from, body: { networks } });
      await lab.cache.barrier();
      return answer;
    };
    const held = () => {
      const entry = lab.cache.get(keys.networkReport(lab.a, 'backend'));
      return entry && value<Record<string, unknown>>(entry);
    };
    const foreign = (await lab.token({ kind: 'node', tenant: lab.b, node: `node_${'2'.repeat(26)}`, nodeName: 'm' }))
      .text;
    const sibling = (await lab.token({ kind: 'node', tenant: lab.a, node: `node_${'3'.repeat(26)}`, nodeName: 'n' }))
      .text;
    for (const other of [foreign, sibling]) {
      expect((await report(other, [{ uid, state: 'ready' }])).status).to.equal(200);
      expect(held()).to.equal(undefined);
    }
    await report(agent, [{ uid: 'net_other', state: 'ready' }]);
    expect(held()).to.equal(undefined);
    await report(agent, [{ uid, state: 'failed', message: 'no pool is left' }]);
    expect(held()).to.deep.include({ uid, state: 'failed', message: 'no pool is left' });
    const { revision } = lab.cache.get(keys.networkReport(lab.a, 'backend'))!;
    await report(agent, [{ uid, state: 'failed', message: 'no pool is left' }]);
    expect(lab.cache.get(keys.networkReport(lab.a, 'backend'))!.revision).to.equal(revision);
    const bad = await report(agent, [{ uid, state: 'great' }]);
    expect([bad.status, bad.body['code'], bad.body['field']]).to.deep.equal([
      422,
      'field_invalid',
      'networks[0].state',
    ]);

    await accept('DELETE', 'networks/backend');
    expect(held()).to.equal(undefined);
  });

  it('keep to If-Match', async () => {
    await accept('POST', 'networks', { name: 'backend' });
    const stale = await ask('DELETE', 'networks/backend', undefined, { 'if-match': '"1"' });
    expect([stale.status, stale.body['code']]).to.deep.equal([412, 'revision_mismatch']);
    expect(stored('backend')).to.include({ name: 'backend' });
  });
});
