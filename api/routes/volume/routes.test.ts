import { expect } from 'chai';

import type { StoredEvent } from '../../../crds/event/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import type { StoredVolume, VolumeReport, VolumeStatus } from '../../../crds/volume/index.js';
import { create, encode, value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';
import { WatchReader } from '../../watch/watch-reader.testing.js';

const NODE = `node_${'1'.repeat(26)}`;
const sound = { name: 'data', class: 'ephemeral', sizeBytes: 2 ** 20 };

describe('volumes over HTTP', () => {
  let lab: ApiLab;
  let token: string;
  let agent: string;

  beforeEach(async () => {
    lab = await new ApiLab({ settings: { quotas: ['volumes=3', 'volumeBytes=4Mi'] } }).start();
    token = await lab.tenantToken(lab.a, 'deployer');
    agent = (await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName: 'machine-1' })).text;
  });
  afterEach(() => lab.stop());

  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    lab.ask(method, `/api/v1/${path}`, { token, headers, ...(body !== undefined && { body }) });
  const accept = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body);
    expect(answer.status, answer.text).to.be.lessThan(300);
    await lab.cache.barrier();
    return answer;
  };
  const make = async (fields = {}) =>
    (await accept('POST', 'dvm/volumes', { ...sound, ...fields })).body as never as { id: string };
  const put = async (key: string, document: object) => {
    const at = (await lab.store.get(key))?.revision ?? 0;
    await lab.store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    await lab.cache.barrier();
  };
  const remove = async (key: string) => {
    const at = (await lab.store.get(key))!.revision;
    await lab.store.commit({ guards: [{ key, at }], puts: [], deletes: [key] });
    await lab.cache.barrier();
  };
  /** What the volume keeper writes once the agent has made it. */
  const settle = (id: string, change: Partial<VolumeStatus> = {}) =>
    put(keys.volumeStatus(lab.a, id), {
      id,
      phase: 'Ready',
      reason: 'volume_ready',
      message: 'it is on machine-1',
      primaryNode: NODE,
      copies: [],
      since: new Date(0).toISOString(),
      ...change,
    });
  const listKeys = async () => (await lab.store.list('')).entries.map(({ key, revision }) => `${key}@${revision}`);
  const stored = (id: string) => {
    const entry = lab.cache.get(keys.volume(lab.a, id));
    return entry && value<StoredVolume>(entry);
  };

  it('[2.6.1 4.16] are stored, shown by id and by name, listed and announced', async () => {
    const made = await accept('POST', 'dvm/volumes', { ...sound, primaryNode: 'machine-1' });
    expect(made.status).to.equal(201);
    const { id } = made.body as { id: string };
    expect(id).to.match(/^vol_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(made.headers.get('location')).to.equal(`/api/v1/dvm/volumes/${id}`);
    expect(made.body).to.deep.include({
      id,
      ...sound,
      type: 'volume',
      accessMode: 'ReadWriteOnce',
      phase: 'Pending',
      primaryNode: NODE,
      primaryNodeName: 'machine-1',
      replicas: [],
      usedBytes: null,
      measuredAt: null,
      consumers: [],
    });
    const altered = (made.body['alterations'] as { field: string }[]).map(({ field }) => field);
    expect(altered).to.deep.equal(['type', 'accessMode', 'primaryNode']);

    await settle(id, { usedBytes: 4096, measuredAt: new Date(0).toISOString(), driver: 'directory' });
    for (const named of [id, 'data']) {
      const { body, headers } = await accept('GET', `dvm/volumes/${named}`);
      expect(body).to.deep.include({
        id,
        phase: 'Ready',
        usedBytes: 4096,
        driver: 'directory',
        message: 'it is on machine-1',
      });
      expect(headers.get('etag')).to.equal(made.headers.get('etag'));
    }
    const { items } = (await accept('GET', 'dvm/volumes')).body as { items: { id: string; phase: string }[] };
    expect(items.map(item => [item.id, item.phase])).to.deep.equal([[id, 'Ready']]);
    const events = (await lab.store.list(ranges.events)).entries.map(entry => value<StoredEvent>(entry));
    expect(events.map(({ type, reason, subject }) => [type, reason, subject.name])).to.deep.equal([
      ['volume.phase_changed', 'volume_created', 'data'],
    ]);
  });

  it('change nothing in a dry run', async () => {
    const before = await listKeys();
    const { body } = await accept('POST', 'dvm/volumes?dryRun=true', sound);
    expect(body).to.deep.include({ dryRun: true, change: 'create' });
    expect(await listKeys()).to.deep.equal(before);
    const { id } = await make();
    const after = await listKeys();
    expect((await accept('DELETE', `dvm/volumes/${id}?dryRun=true`)).body).to.deep.include({ change: 'delete' });
    expect(await listKeys()).to.deep.equal(after);
  });

  it('have one name each, and no more than the quotas, also when asked for at once', async () => {
    await make({ name: 'one' });
    const again = await ask('POST', 'dvm/volumes', { ...sound, name: 'one' });
    expect([again.status, again.body['code'], again.body['field']]).to.deep.equal([
      409,
      'resource_already_exists',
      'name',
    ]);
    const big = await ask('POST', 'dvm/volumes', { ...sound, name: 'big', sizeBytes: 2 ** 22 });
    expect([big.status, big.body['code'], big.body['field']]).to.deep.equal([409, 'quota_reached', 'sizeBytes']);
    const names = ['two', 'three', 'two', 'four'];
    const answers = await Promise.all(names.map(name => ask('POST', 'dvm/volumes', { ...sound, name })));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(2);
    await lab.cache.barrier();
    const held = lab.cache.list(ranges.of(ranges.volumes, lab.a)).map(entry => value<StoredVolume>(entry).name);
    expect(new Set(held).size).to.equal(3);
    expect(held).to.have.length(3);
  });

  it('[4.16] belong to a tenant: another one neither sees nor deletes nor mounts them', async () => {
    const { id } = await make();
    await settle(id);
    const other = await lab.tenantToken(lab.b);
    const absent = id.replace(/.{4}$/, '0000');
    for (const method of ['GET', 'DELETE']) {
      const [foreign, gone] = await Promise.all(
        [id, absent].map(each => lab.ask(method, `/api/v1/dvm/volumes/${each}`, { token: other })),
      );
      expect([foreign!.status, foreign!.body['code']]).to.deep.equal([404, 'volume_not_found']);
      expect(foreign!.text.replaceAll(id, absent)).to.equal(gone!.text);
    }
    const { body } = await lab.ask('GET', '/api/v1/dvm/volumes', { token: other });
    expect(body['items']).to.deep.equal([]);
  });

  it('are watched with their phase', async () => {
    const url = `${lab.server.url}/api/v1/dvm/volumes?watch=true`;
    const watch = await WatchReader.open(url, { authorization: `Bearer ${token}` });
    const next = async (type: string) => {
      for (;;) {
        const [line] = await watch.take(1);
        if (line?.type === type) return line.object;
      }
    };
    await next('bookmark');
    const { id } = await make();
    expect(await next('added')).to.include({ name: 'data', phase: 'Pending' });
    await settle(id);
    expect(await next('modified')).to.include({ id, phase: 'Ready' });
    await accept('DELETE', `dvm/volumes/${id}`);
    expect(await next('modified')).to.include({ id, phase: 'Deleting' });
    await remove(keys.volume(lab.a, id));
    expect(await next('deleted')).to.include({ id });
    watch.close();
  });

  it('are not deleted while something mounts them, or a container of it is left', async () => {
    const { id } = await make();
    await settle(id);
    const mount = { volumeId: id, mountPath: '/data' };
    await accept('POST', 'deployments', webDeployment('web', { replicas: 1, volumes: [mount] }));
    expect((await accept('GET', `dvm/volumes/${id}`)).body['consumers']).to.deep.equal([
      { deployment: 'web', readOnly: false },
    ]);
    const refuse = async (users: string) => {
      const before = await listKeys();
      const { status, body } = await ask('DELETE', `dvm/volumes/${id}`);
      expect([status, body['code'], body['field']]).to.deep.equal([409, 'volume_in_use', 'id']);
      expect(body['expected']).to.contain(`mounted by ${users}`);
      expect(await listKeys()).to.deep.equal(before);
    };
    await refuse('web');
    const template = { image: 'i', secretsVersion: 0, volumes: [{ ...mount, type: 'volume', readOnly: false }] };
    const replica = { uid: 'rep_1', tenant: lab.a, deployment: 'old', slot: 0, template };
    await create(lab.store, keys.replica(lab.a, 'old', 0), replica as unknown as Replica);
    await accept('PUT', 'deployments/web', { volumes: null });
    await refuse('old');

    const second = await ask('POST', 'deployments', webDeployment('new', { replicas: 1, volumes: [mount] }));
    expect([second.status, second.body['code']], second.text).to.deep.equal([409, 'volume_access_mode_conflict']);
    await remove(keys.replica(lab.a, 'old', 0));
    const { body } = await accept('DELETE', `dvm/volumes/data`);
    expect(body).to.deep.include({ id, phase: 'Deleting' });
    expect(stored(id)?.metadata.deletedAt).to.be.a('string');
    const twice = await listKeys();
    await accept('DELETE', `dvm/volumes/${id}`);
    expect(await listKeys()).to.deep.equal(twice);
    const late = await ask('POST', 'deployments', webDeployment('late', { replicas: 1, volumes: [mount] }));
    expect([late.status, late.body['code']]).to.deep.equal([409, 'volume_not_ready']);
  });

  it('are deleted or mounted at one moment, never both', async () => {
    for (let round = 0; round < 12; round++) {
      const { id } = await make();
      await settle(id);
      const name = `web-${round}`;
      const [mounted, deleted] = await Promise.all([
        ask(
          'POST',
          'deployments',
          webDeployment(name, { replicas: 1, volumes: [{ volumeId: id, mountPath: '/data' }] }),
        ),
        ask('DELETE', `dvm/volumes/${id}`),
      ]);
      expect(['201 409', '409 200'], `${mounted.text} ${deleted.text}`).to.include(
        `${mounted.status} ${deleted.status}`,
      );
      await remove(keys.volume(lab.a, id));
    }
  });

  it('are reported on by the agent of their node, and by no other; bytes are gone only where that was ordered', async () => {
    const { id } = await make();
    await settle(id, { phase: 'Materializing' });
    const report = async (from: string, volumes: unknown) => {
      const answer = await lab.ask('POST', '/agent/v1/volumes', { token: from, body: { volumes } });
      await lab.cache.barrier();
      return answer;
    };
    const held = () => {
      const entry = lab.cache.get(keys.volumeReport(lab.a, id, NODE));
      return entry && value<VolumeReport>(entry);
    };
    const node = (tenant: string, digit: string) =>
      lab.token({ kind: 'node', tenant, node: `node_${digit.repeat(26)}`, nodeName: `m-${digit}` });
    for (const other of [await node(lab.b, '2'), await node(lab.a, '3')]) {
      expect((await report(other.text, [{ id, state: 'ready' }])).status).to.equal(200);
      expect(held()).to.equal(undefined);
    }
    await report(agent, [{ id, state: 'removed' }]);
    expect(held()).to.equal(undefined);
    await report(agent, [{ id, state: 'ready', usedBytes: 5, driver: 'btrfs' }]);
    expect(held()).to.deep.include({ id, nodeId: NODE, state: 'ready', usedBytes: 5, driver: 'btrfs' });
    const { revision } = lab.cache.get(keys.volumeReport(lab.a, id, NODE))!;
    await report(agent, [{ id, state: 'ready', usedBytes: 5, driver: 'btrfs' }]);
    expect(lab.cache.get(keys.volumeReport(lab.a, id, NODE))!.revision).to.equal(revision);
    const bad = await report(agent, [{ id, state: 'great' }]);
    expect([bad.status, bad.body['code'], bad.body['field']]).to.deep.equal([422, 'field_invalid', 'volumes[0].state']);
    await accept('DELETE', `dvm/volumes/${id}`);
    await report(agent, [{ id, state: 'removed' }]);
    expect(held()).to.deep.include({ id, state: 'removed' });
  });

  it('keep their node while its agent is alive: their bytes are there', async () => {
    const { id } = await make();
    await settle(id);
    const admin = await lab.tenantToken(lab.a, 'admin');
    await put(keys.nodeName('machine-1'), { claims: [{ tenant: lab.a, since: new Date(0).toISOString() }] });
    await put(keys.alive(lab.a, 'machine-1'), { id: NODE, lease: '0', since: new Date(0).toISOString() });
    const drop = (query = '') => lab.ask('DELETE', `/api/v1/nodes/machine-1${query}`, { token: admin });
    const busy = await drop();
    expect([busy.status, busy.body['code']], busy.text).to.deep.equal([409, 'node_in_use']);
    expect(busy.body['expected']).to.contain('1 volume');
    await remove(keys.alive(lab.a, 'machine-1'));
    expect((await drop('?force=true&dryRun=true')).status).to.equal(200);
    for (const query of ['', '?force=false', '?dryRun=true']) {
      const before = await listKeys();
      const { status, body } = await drop(query);
      expect([status, body['code'], body['field']]).to.deep.equal([409, 'node_has_volumes', 'id']);
      expect(body['expected']).to.contain(`the bytes of ${sound.name} are on this one`);
      expect(await listKeys()).to.deep.equal(before);
    }
    expect((await drop('?force=yes')).body['code']).to.equal('query_parameter_invalid');
    await settle(id, { copies: [{ nodeId: `node_${'2'.repeat(26)}`, state: 'syncing' }] });
    expect((await drop('?dryRun=true')).body['code'], 'a copy that is not complete').to.equal('node_has_volumes');
    const N2 = `node_${'2'.repeat(26)}`;
    const present = { id: N2, lease: '0', since: new Date(0).toISOString() };
    const machine1 = value<StoredNode>(lab.cache.get(keys.node(lab.a, 'machine-1'))!);
    await put(keys.node(lab.a, 'machine-2'), { ...machine1, id: N2, name: 'machine-2' });
    const refused = async (change: Partial<VolumeStatus>, why: string) => {
      await settle(id, change);
      expect((await drop('?dryRun=true')).body['code'], why).to.equal('node_has_volumes');
    };
    const synced = (nodeId: string) => [{ nodeId, state: 'synced' as const }];
    await refused({ copies: synced(N2) }, 'the node of the other copy sends no heartbeats');
    await refused({ primaryNode: N2, phase: 'Degraded', copies: synced(NODE) }, 'it has the last complete copy');
    await put(keys.alive(lab.a, 'machine-2'), present);
    await refused({ primaryNode: N2, phase: 'Degraded', copies: synced(NODE) }, 'the primary does not serve');
    const divergent = [{ nodeId: NODE, name: 'divergent-1', epoch: 1, at: new Date(0).toISOString() }];
    await refused({ primaryNode: N2, copies: synced(NODE), divergent }, 'something was set aside there');
    await settle(id, { copies: synced(N2) });
    expect((await drop('?dryRun=true')).status, 'there is another copy').to.equal(200);
    await settle(id, { primaryNode: N2, copies: synced(NODE) });
    expect((await drop('?dryRun=true')).status, 'the primary serves').to.equal(200);
    await settle(id);
    expect((await drop('?force=true')).status).to.equal(200);
  });

  it('are judged anew when their silent node sends heartbeats again, or one of them changes, before it is gone', async () => {
    const { id } = await make();
    const admin = await lab.tenantToken(lab.a, 'admin');
    await put(keys.nodeName('machine-1'), { claims: [{ tenant: lab.a, since: new Date(0).toISOString() }] });
    const drop = (query = '') => lab.ask('DELETE', `/api/v1/nodes/machine-1${query}`, { token: admin });
    const commit = lab.store.commit.bind(lab.store);
    const interfere = (act: () => Promise<unknown>) => {
      lab.store.commit = async change => {
        lab.store.commit = commit;
        await act();
        return commit(change);
      };
    };
    await settle(id, { phase: 'Pending' });
    interfere(() => settle(id));
    expect((await drop()).body['code']).to.equal('node_has_volumes');
    interfere(() => put(keys.alive(lab.a, 'machine-1'), { id: NODE, lease: '0', since: new Date(0).toISOString() }));
    expect((await drop('?force=true')).body['code']).to.equal('node_in_use');
    await lab.cache.barrier();
    expect(lab.cache.get(keys.node(lab.a, 'machine-1'))).to.not.equal(undefined);
  });

  it('that are being deleted, were never made or are memory let their silent node go', async () => {
    const admin = await lab.tenantToken(lab.a, 'admin');
    await put(keys.nodeName('machine-1'), { claims: [{ tenant: lab.a, since: new Date(0).toISOString() }] });
    const { id } = await make();
    await settle(id);
    await accept('DELETE', `dvm/volumes/${id}`);
    const memory = await make({ name: 'memory', type: 'tmpfs' });
    await settle(memory.id);
    await make({ name: 'pending' });
    expect((await lab.ask('DELETE', '/api/v1/nodes/machine-1', { token: admin })).status).to.equal(200);
  });

  it('get another size, which is stored, announced, and within the quota', async () => {
    const { id } = await make();
    await settle(id, { usedBytes: 2 ** 20, capacityBytes: 2 ** 20 });
    const before = await listKeys();
    const dryRun = await accept('PATCH', `dvm/volumes/${id}?dryRun=true`, { sizeBytes: 2 ** 21 });
    expect(dryRun.body).to.deep.include({ change: 'update' });
    const refuse = async (body: object, wanted: readonly unknown[], headers = {}) => {
      const { status, body: answer } = await ask('PATCH', 'dvm/volumes/data', body, headers);
      expect([status, answer['code'], answer['field']]).to.deep.equal(wanted);
    };
    await refuse({ sizeBytes: 2 ** 23 }, [409, 'quota_reached', 'sizeBytes']);
    await refuse({ sizeBytes: 2 ** 20, class: 'replicated' }, [422, 'field_immutable', 'class']);
    await refuse({ sizeBytes: 2 ** 21 }, [412, 'revision_mismatch', 'If-Match'], { 'if-match': '"1"' });
    expect(await listKeys()).to.deep.equal(before);

    const { body, headers } = await accept('PATCH', 'dvm/volumes/data', { sizeBytes: 2 ** 22 });
    expect(body).to.deep.include({ id, sizeBytes: 2 ** 22, capacityBytes: 2 ** 20, alterations: [], warnings: [] });
    expect(headers.get('etag')).to.equal(`"${(body['metadata'] as { revision: string }).revision}"`);
    expect(stored(id)).to.deep.include({ sizeBytes: 2 ** 22, class: 'ephemeral' });
    expect(stored(id)?.metadata.generation).to.equal(2);
    const events = (await lab.store.list(ranges.events)).entries.map(entry => value<StoredEvent>(entry));
    expect(events.at(-1)).to.include({ type: 'volume.phase_changed', reason: 'volume_resize_requested' });

    const again = await listKeys();
    await accept('PATCH', `dvm/volumes/${id}`, { sizeBytes: 2 ** 22 });
    expect(await listKeys()).to.deep.equal(again);
    await settle(id, { usedBytes: 2 ** 21, phase: 'Resizing' });
    await refuse({ sizeBytes: 2 ** 20 }, [409, 'volume_size_unavailable', 'sizeBytes']);
    await accept('PATCH', `dvm/volumes/${id}`, { sizeBytes: 2 ** 21 });
  });

  it('are grown within the quota also when several are grown at once', async () => {
    const made = [await make({ name: 'one' }), await make({ name: 'two' })];
    for (const { id } of made) await settle(id);
    const answers = await Promise.all(
      made.map(({ id }) => ask('PATCH', `dvm/volumes/${id}`, { sizeBytes: 3 * 2 ** 20 })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 409]);
  });

  it('in memory get another size for the containers that start then', async () => {
    const { id } = await make({ type: 'tmpfs' });
    await settle(id);
    const { body } = await accept('PATCH', `dvm/volumes/${id}`, { sizeBytes: 2 ** 21 });
    expect((body['warnings'] as { code: string }[]).map(({ code }) => code)).to.deep.equal(['volume_resize_at_start']);
  });

  it('are not deleted while their record is damaged, and the damage is not made final', async () => {
    const { id } = await make();
    await settle(id);
    const key = keys.volume(lab.a, id);
    await put(key, { ...stored(id), class: 7, type: null });
    const before = await listKeys();
    for (const path of [`dvm/volumes/${id}`, `dvm/volumes/${sound.name}`, `dvm/volumes/${id}?dryRun=true`]) {
      const { status, body } = await ask('DELETE', path);
      expect([status, body['code'], body['field']]).to.deep.equal([409, 'volume_record_unusable', 'id']);
    }
    expect(await listKeys()).to.deep.equal(before);
    expect(JSON.parse((await lab.store.get(key))!.bytes.toString())).to.include({ class: 7, type: null });
  });

  it('keep to If-Match', async () => {
    const { id } = await make();
    const stale = await ask('DELETE', `dvm/volumes/${id}`, undefined, { 'if-match': '"1"' });
    expect([stale.status, stale.body['code']]).to.deep.equal([412, 'revision_mismatch']);
    expect(stored(id)?.metadata.deletedAt).to.equal(undefined);
  });

  it('[2.6.9 2.6.10 3.21 4.17 4.18] have no snapshots, and none can be made', async () => {
    const { id } = await make();
    const other = await lab.tenantToken(lab.b);
    const path = `tenants/${lab.a}/volumes/${id}/snapshots`;
    expect((await accept('GET', path)).body).to.deep.include({ items: [], next: null });
    const before = await listKeys();
    const shown = await ask('GET', `${path}/snap_1`);
    expect([shown.status, shown.body['code'], shown.body['field']]).to.deep.equal([
      404,
      'volume_snapshot_not_found',
      'snapshots/{snap}',
    ]);
    for (const body of [undefined, {}, { name: 'x' }, []]) {
      const made = await ask('POST', path, body);
      expect([made.status, made.body['code']]).to.deep.equal([501, 'volume_snapshot_not_implemented']);
      for (const way of ['replicas', 'backups', 'archives', 'scheduled job'])
        expect(made.body['expected']).to.contain(way);
    }
    for (const at of [path, `tenants/${lab.a}/volumes/vol_x/snapshots`, `${path}/snap_1`]) {
      const { status, body } = await lab.ask('GET', `/api/v1/${at}`, { token: other });
      expect([status, body['code']]).to.deep.equal([404, 'volume_not_found']);
    }
    expect(await listKeys()).to.deep.equal(before);
  });
});
