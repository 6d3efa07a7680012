import { expect } from 'chai';

import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { until } from '../../dev/testing/index.js';
import { declareRestore, type LogRequest } from '../../pkg/link/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import { create, encode, value } from '../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { FaceClient, type TestObject } from './face-lab.testing.js';
import { parsePodName } from './pods.js';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const NODE = `node_${'1'.repeat(26)}`;
const AT = '2026-01-31T12:00:00.000Z';

describe('pods of the Kubernetes face', () => {
  let lab: ApiLab;
  let client: FaceClient;
  let uid: string;
  beforeEach(async () => {
    lab = await new ApiLab().start();
    client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
    const made = await client.ask('POST', '/api/v1/deployments', {
      body: webDeployment('web', { labels: { app: 'web' }, environment: { MODE: 'fast' } }),
    });
    uid = (made.body['metadata'] as { readonly uid: string }).uid;
  });
  afterEach(() => lab.stop());

  const seen = (replica: number, more: object = {}) => ({
    replica,
    nodeId: NODE,
    nodeName: 'machine-1',
    state: 'running',
    health: 'none',
    restarts: 0,
    containerId: 'c1',
    image: 'registry.example.com/shop/web:1.4.2',
    generation: 1,
    since: AT,
    ...more,
  });
  /** Stores what the status roller would. */
  const report = async (...placements: readonly object[]) => {
    const key = keys.status(lab.a, 'web');
    const stored = await lab.store.get(key);
    const status = { uid, phase: 'Running', message: '', replicas: 2, readyReplicas: 1, placements, conditions: [] };
    const guards = [{ key, at: stored?.revision ?? 0 }];
    await lab.store.commit({ guards, puts: [{ key, bytes: encode(status) }], deletes: [] });
    await lab.cache.barrier();
  };
  const list = async (query = '') =>
    (await client.ask('GET', client.core(`pods${query}`))).body['items'] as readonly TestObject[];
  const names = (pods: readonly TestObject[]) => pods.map(({ metadata }) => metadata.name);

  it('are the replicas that the status of a deployment names, found by its labels and its name', async () => {
    expect(await list()).to.deep.equal([]);
    const message = 'the image is not there';
    const trouble = { state: 'failed', containerId: null, reason: 'image_not_found', message };
    await report(seen(0, { restarts: 3 }), seen(1, trouble));
    expect(names(await list())).to.deep.equal(['web-0', 'web-1']);
    expect(names(await list('?labelSelector=mooring.io/deployment=web,app=web'))).to.deep.equal(['web-0', 'web-1']);
    expect(names(await list('?labelSelector=mooring.io/deployment=api'))).to.deep.equal([]);
    expect(names(await list('?fieldSelector=status.phase=Running'))).to.deep.equal(['web-0']);

    const { body, text } = await client.ask('GET', client.core('pods/web-0'));
    expect(body).to.deep.include({ apiVersion: 'v1', kind: 'Pod' });
    expect(body['status']).to.deep.include({ phase: 'Running' });
    const { ownerReferences } = body['metadata'] as { readonly ownerReferences: readonly object[] };
    expect(ownerReferences[0]).to.deep.include({ kind: 'Deployment', name: 'web', uid });
    expect(text).to.not.include('fast');
    const waiting = (await client.ask('GET', client.core('pods/web-1'))).body['status'] as Record<string, unknown>;
    expect(waiting).to.deep.include({ phase: 'Pending', reason: 'image_not_found', message });

    const table = await client.ask('GET', client.core('pods'), { headers: { accept: TABLE } });
    const rows = table.body['rows'] as readonly { readonly cells: readonly string[] }[];
    expect(rows.map(({ cells }) => cells.filter((_, column) => column !== 4))).to.deep.equal([
      ['web-0', '1/1', 'Running', '3', 'machine-1', 'registry.example.com/shop/web:1.4.2'],
      ['web-1', '0/1', 'image_not_found', '0', 'machine-1', 'registry.example.com/shop/web:1.4.2'],
    ]);
    for (const absent of ['web-2', 'web', 'api-0', 'web-00', '..-0']) {
      expect((await client.ask('GET', client.core(`pods/${absent}`))).status, absent).to.equal(404);
    }
  });

  it('are told by a watch one by one: only those that change, and those that go', async () => {
    await report(seen(0), seen(1));
    const events = await client.watch(client.core('pods?watch=true'), 4, 'application/json', async () => {
      await report(seen(0), seen(1, { restarts: 1 }));
      await report(seen(0));
    });
    const told = events.map(({ type, object }) => [type, object.metadata.name]);
    expect(told.slice(0, 2)).to.have.deep.members([
      ['ADDED', 'web-0'],
      ['ADDED', 'web-1'],
    ]);
    expect(told.slice(2)).to.deep.equal([
      ['MODIFIED', 'web-1'],
      ['DELETED', 'web-1'],
    ]);
  });

  it('are not written, and nothing is run in them', async () => {
    await report(seen(0));
    for (const part of ['exec', 'attach', 'portforward']) {
      for (const method of ['GET', 'POST']) {
        const { status, body } = await client.ask(method, client.core(`pods/web-0/${part}?command=ls`));
        expect([status, body['kind'], body['reason']], part).to.deep.equal([405, 'Status', 'MethodNotAllowed']);
        const { causes } = body['details'] as { readonly causes: readonly { readonly reason: string }[] };
        expect(causes[0]?.reason, part).to.equal('exec_not_offered');
      }
    }
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const { status, body } = await client.ask(method, client.core('pods/web-0'), { body: {} });
      expect([status, body['kind']], method).to.deep.equal([405, 'Status']);
    }
    expect((await client.ask('GET', client.core('pods/web-0/status'))).status).to.equal(404);
    expect((await client.ask('POST', client.core('pods/web-0/log'), { body: {} })).status).to.equal(404);
    expect((await client.ask('GET', client.core('events/web-0/log'))).status).to.equal(404);
  });

  it('have the log of their replica, as it was asked for', async () => {
    await report(seen(0));
    const node = (await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName: 'machine-1' })).text;
    await create(lab.store, keys.alive(lab.a, 'machine-1'), {});
    const replica: Replica = {
      uid: 'rep_0',
      tenant: lab.a,
      deployment: 'web',
      deploymentUid: uid,
      slot: 0,
      generation: 1,
      templateHash: 'h',
      template: { image: 'a:1', secretsVersion: 0 },
      nodeId: NODE,
      createdAt: AT,
    };
    await create(lab.store, keys.replica(lab.a, 'web', 0), replica);
    const read = client.ask(
      'GET',
      client.core('pods/web-0/log?container=main&follow=true&tailLines=2&sinceSeconds=60'),
    );
    const entry = await until('the request', () => lab.cache.list(ranges.logRequestsOf(lab.a, NODE))[0]);
    const request = value<LogRequest>(entry);
    expect(request).to.deep.include({ replica: 'rep_0', slot: 0, follow: true, tail: 2 });
    expect(Number(request.since)).to.be.greaterThan(0);
    const lines = [{ text: 'one\n' }, { text: 'two\n' }, { text: '', end: 'complete' }];
    const raw = lines.map(line => `${JSON.stringify({ stream: 'stdout', ...line })}\n`).join('');
    await lab.ask('POST', `/agent/v1/logs/${request.id}`, { token: node, raw });
    const { status, text, headers } = await read;
    expect([status, text]).to.deep.equal([200, 'one\ntwo\n']);
    expect(headers.get('content-type')).to.include('text/plain');
  });

  it('refuse a log that cannot be read with a Status', async () => {
    await report(seen(0));
    const ask = async (path: string) => {
      const { status, body } = await client.ask('GET', client.core(`pods/${path}`));
      return [status, body['kind']];
    };
    expect(await ask('web-7/log')).to.deep.equal([404, 'Status']);
    for (const query of [
      'container=side',
      'timestamps=true',
      'limitBytes=5',
      'tailLines=-1',
      'tailLines=x',
      'sinceSeconds=0',
      'sinceTime=yesterday',
      'follow=perhaps',
      'follow=true&previous=true',
    ]) {
      expect(await ask(`web-0/log?${query}`), query).to.deep.equal([400, 'Status']);
    }
  });

  it('are named by a deployment and a number', () => {
    expect(parsePodName('web-1-0')).to.deep.equal({ deployment: 'web-1', replica: 0 });
    for (const text of ['web', 'web-', '-0', 'web-01', 'web-x', 'Web-0', ''])
      expect(parsePodName(text), text).to.equal(undefined);
  });

  it('end a list whose next page is of before a restore with 410', async () => {
    await client.ask('POST', '/api/v1/deployments', { body: webDeployment('api') });
    const first = (await client.ask('GET', client.own('deployments?limit=1'))).body['metadata'];
    const { continue: token = '' } = first as { readonly continue?: string };
    const next = () => client.ask('GET', client.own(`deployments?limit=1&continue=${token}`));
    expect((await next()).status).to.equal(200);
    await declareRestore(lab.store, systemClock);
    await lab.cache.barrier();
    const { status, body } = await next();
    expect([status, body['reason']]).to.deep.equal([410, 'Expired']);
    const bad = await client.ask('GET', client.own('deployments?continue=bm9uc2Vuc2U'));
    expect([bad.status, bad.body['kind']]).to.deep.equal([400, 'Status']);
  });
});
