import { expect } from 'chai';

import { declareRestore } from '../../pkg/link/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import { ApiLab } from '../api-lab.testing.js';
import { FaceClient, type TestObject } from './face-lab.testing.js';

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

interface TestTable {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
  readonly rows: readonly { readonly cells: readonly string[]; readonly object?: TestObject }[];
}

describe('the Kubernetes face', () => {
  let lab: ApiLab;
  let client: FaceClient;
  const web = (name: string, more: object = {}) => ({
    kind: 'Deployment',
    name,
    image: 'registry.example.com/shop/web:1.4.2',
    replicas: 2,
    labels: { app: name },
    ...more,
  });
  const make = (name: string, more: object = {}) =>
    client.ask('POST', '/api/v1/deployments', { body: web(name, more) });
  const scale = (name: string, replicas: number) =>
    client.ask('PUT', `/api/v1/deployments/${name}`, { body: { replicas } });
  const items = (body: Record<string, unknown>) => body['items'] as readonly TestObject[];
  const names = (body: Record<string, unknown>) => items(body).map(({ metadata }) => metadata.name);
  const meta = (body: Record<string, unknown>) => body['metadata'] as Readonly<Record<string, string>>;

  beforeEach(async () => {
    lab = await new ApiLab({ settings: { tailBuffer: 50 } }).start();
    client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
  });
  afterEach(() => lab.stop());

  it('is discovered in one document, or group by group, with the same resources', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const whole = await client.ask('GET', '/k8s/apis', { headers: { accept } });
    expect(whole.headers.get('content-type')).to.equal(
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    );
    const [group] = items(whole.body) as unknown as readonly {
      readonly versions: readonly { readonly resources: readonly { readonly resource: string }[] }[];
    }[];
    const resources = group!.versions[0]!.resources.map(({ resource }) => resource);
    expect(resources).to.include.members(['deployments', 'jobs', 'networks', 'nodes', 'volumes', 'backups']);

    expect((await client.ask('GET', '/k8s/api')).body['versions']).to.deep.equal(['v1']);
    expect((await client.ask('GET', '/k8s/apis')).body['kind']).to.equal('APIGroupList');
    const legacy = (await client.ask('GET', '/k8s/apis/mooring.io/v1')).body['resources'] as readonly {
      readonly name: string;
    }[];
    expect(legacy.map(({ name }) => name).filter(name => !name.includes('/'))).to.deep.equal(resources);
    expect((await client.ask('GET', '/k8s/version')).body['gitVersion']).to.match(/^v1\.\d+\.0\+mooring-/);
  });

  it('shows a deployment as an object, with its fields as spec and its labels in the metadata', async () => {
    await make('web', { environment: { MODE: 'fast' } });
    const { status, body } = await client.ask('GET', client.own('deployments/web'));
    expect(status).to.equal(200);
    expect(body).to.include({ apiVersion: 'mooring.io/v1', kind: 'Deployment' });
    expect(meta(body)).to.deep.include({ name: 'web', namespace: lab.a, generation: 1, labels: { app: 'web' } });
    expect(meta(body)['resourceVersion']).to.match(/^\d+$/);
    expect(body['spec']).to.deep.include({ replicas: 2, environment: { MODE: 'fast' } });
    expect(body['spec']).to.not.have.any.keys('name', 'kind', 'labels', 'metadata');
    expect(body['status']).to.include({ phase: 'Pending' });
  });

  it('lists in pages that carry the version of the first one', async () => {
    for (const name of ['a', 'b', 'c']) await make(name);
    const first = await client.ask('GET', client.own('deployments?limit=2'));
    expect(first.body).to.include({ kind: 'DeploymentList', apiVersion: 'mooring.io/v1' });
    expect(names(first.body)).to.deep.equal(['a', 'b']);
    await make('d');
    const more = meta(first.body)['continue']!;
    const second = await client.ask('GET', client.own(`deployments?limit=2&continue=${more}`));
    expect(names(second.body)).to.deep.equal(['c', 'd']);
    expect(meta(second.body)).to.deep.equal({ resourceVersion: meta(first.body)['resourceVersion'] });
    expect(names((await client.ask('GET', client.own('deployments'))).body)).to.deep.equal(['a', 'b', 'c', 'd']);
    expect(names((await client.ask('GET', '/k8s/apis/mooring.io/v1/deployments')).body)).to.have.length(4);
  });

  const selections: readonly [query: string, selected: readonly string[]][] = [
    ['labelSelector=app%3Da', ['a']],
    ['labelSelector=app!%3Da', ['b', 'c']],
    ['labelSelector=app+in+(a,c)', ['a', 'c']],
    ['labelSelector=app+notin+(a,c)', ['b']],
    ['labelSelector=!app', []],
    ['labelSelector=app,tier', []],
    ['fieldSelector=metadata.name%3Db', ['b']],
    ['fieldSelector=metadata.name!%3Db&labelSelector=app', ['a', 'c']],
  ];
  it('selects by labels and by fields', async () => {
    for (const name of ['a', 'b', 'c']) await make(name);
    for (const [query, selected] of selections) {
      const { body } = await client.ask('GET', client.own(`deployments?${query}`));
      expect(names(body), query).to.deep.equal(selected);
    }
    for (const query of ['labelSelector=a%3D%3D%3D', 'fieldSelector=spec.image%3Da']) {
      const { status, body } = await client.ask('GET', client.own(`deployments?${query}`));
      expect([status, body['reason']], query).to.deep.equal([400, 'BadRequest']);
    }
  });

  it('prints tables: the columns of the kind, and the metadata of each row', async () => {
    await make('web');
    const { body } = await client.ask('GET', client.own('deployments?limit=500'), { headers: { accept: TABLE } });
    const { kind, columnDefinitions, rows } = body as unknown as TestTable;
    expect(kind).to.equal('Table');
    expect(columnDefinitions.map(({ name }) => name)).to.include.members(['NAME', 'READY', 'PHASE', 'AGE', 'IMAGE']);
    expect(columnDefinitions.find(({ name }) => name === 'UID')?.priority).to.equal(1);
    expect(rows[0]!.cells.slice(0, 3)).to.deep.equal(['web', '0/2', 'Pending']);
    expect(rows[0]!.object).to.include({ kind: 'PartialObjectMetadata' });
    const whole = await client.ask('GET', client.own('deployments/web?includeObject=Object'), {
      headers: { accept: TABLE },
    });
    expect((whole.body as unknown as TestTable).rows[0]!.object).to.include({ kind: 'Deployment' });
  });

  it('watches from a version on, with an event for every change', async () => {
    await make('a');
    const list = (await client.ask('GET', client.own('deployments'))).body;
    const from = meta(list)['resourceVersion']!;
    const path = client.own(`deployments?watch=true&resourceVersion=${from}`);
    const events = await client.watch(path, 3, undefined, async () => {
      await scale('a', 5);
      await make('b');
      await client.ask('DELETE', '/api/v1/deployments/b');
    });
    expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).to.deep.equal([
      'MODIFIED a',
      'ADDED b',
      'MODIFIED b',
    ]);
    expect(events[2]!.object.metadata).to.have.property('deletionTimestamp');
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).to.deep.equal(versions.toSorted((a, b) => a - b));

    const rest = await client.watch(client.own(`deployments?watch=1&resourceVersion=${versions[0]}`), 2);
    expect(rest.map(({ type, object }) => `${type} ${object.metadata.name}`)).to.deep.equal(['ADDED b', 'MODIFIED b']);
  });

  it('tells a watch with a selector of objects that enter and leave it', async () => {
    await make('a');
    const path = client.own('deployments?watch=true&labelSelector=tier%3Dfront');
    const events = await client.watch(path, 2, undefined, async () => {
      await client.ask('PUT', '/api/v1/deployments/a', { body: { labels: { tier: 'front' } } });
      await client.ask('PUT', '/api/v1/deployments/a', { body: { labels: { tier: 'back' } } });
    });
    expect(events.map(({ type }) => type)).to.deep.equal(['ADDED', 'DELETED']);
  });

  it('begins a watch with the present state, and says when that is told', async () => {
    await make('a');
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const events = await client.watch(client.own(`deployments?${query}`), 2);
    expect(events.map(({ type }) => type)).to.deep.equal(['ADDED', 'BOOKMARK']);
    expect(events[1]!.object.metadata['annotations']).to.deep.equal({ 'k8s.io/initial-events-end': 'true' });
    const tables = await client.watch(client.own('deployments?watch=true&resourceVersion=0'), 1, TABLE);
    expect(tables[0]!.object.kind).to.equal('Table');
    const ended = await client.watch(client.own('deployments?watch=true&timeoutSeconds=1'), 9);
    expect(ended.map(({ type }) => type)).to.deep.equal(['ADDED']);
  });

  it('answers a version whose later changes are not kept, or that was before a restore, with 410', async () => {
    await make('a');
    const first = meta((await client.ask('GET', client.own('deployments'))).body)['resourceVersion']!;
    for (let replicas = 1; replicas <= 60; replicas++) await scale('a', replicas % 9);
    const ask = (version: string) => client.ask('GET', client.own(`deployments?watch=true&resourceVersion=${version}`));
    const old = await ask(first);
    expect([old.status, old.body['reason'], old.body['code']]).to.deep.equal([410, 'Expired', 410]);
    const present = meta((await client.ask('GET', client.own('deployments'))).body)['resourceVersion']!;
    await declareRestore(lab.store, systemClock);
    await lab.cache.barrier();
    expect((await ask(present)).status).to.equal(410);
    const restored = meta((await client.ask('GET', client.own('deployments'))).body)['resourceVersion']!;
    expect(restored).to.match(/^\d{20,}$/);
    expect(
      await client.watch(client.own(`deployments?watch=true&resourceVersion=${restored}&timeoutSeconds=1`), 1),
    ).to.deep.equal([]);
    expect((await ask('none')).status).to.equal(400);
  });

  it('shows our events as those of Kubernetes, by the object that they are about', async () => {
    for (const name of ['a', 'b']) await make(name);
    const path = client.core('events?fieldSelector=involvedObject.kind%3DDeployment,involvedObject.name%3Da');
    const { body } = await client.ask('GET', path);
    expect(body['kind']).to.equal('EventList');
    expect(items(body).map(event => [event['reason'], event['type']])).to.deep.equal([['created', 'Normal']]);
    const [event] = items(body);
    expect((await client.ask('GET', client.core(`events/${event!.metadata.name}`))).body).to.deep.equal(event);
    const all = await client.ask('GET', '/k8s/api/v1/events?limit=1');
    expect([items(all.body).length, typeof meta(all.body)['continue']]).to.deep.equal([1, 'string']);
    const next = await client.ask('GET', `/k8s/api/v1/events?continue=${meta(all.body)['continue']}`);
    expect(items(next.body)).to.have.length(1);
    const from = meta(next.body)['resourceVersion'];
    const events = await client.watch(client.core(`events?watch=true&resourceVersion=${from}`), 1, undefined, () =>
      scale('a', 4),
    );
    expect(events.map(({ type, object }) => `${type} ${String(object['reason'])}`)).to.deep.equal(['ADDED updated']);
    expect((await client.ask('GET', client.core('events/absent'))).status).to.equal(404);
  });

  it('ends a page that has become large, and goes on where it ended', async () => {
    const environment = Object.fromEntries(Array.from('ABCDEFG', name => [name, 'x'.repeat(30_000)]));
    const made = Array.from({ length: 60 }, (_, at) => `large-${String(at).padStart(2, '0')}`);
    for (const name of made) expect((await make(name, { environment })).status, name).to.equal(201);
    const first = (await client.ask('GET', client.own('deployments'))).body;
    const rest = `deployments?continue=${encodeURIComponent(meta(first)['continue']!)}`;
    const second = (await client.ask('GET', client.own(rest))).body;
    expect([...names(first), ...names(second)]).to.deep.equal(made);
    expect(meta(second)).not.to.have.property('continue');
  });

  it('tells watches with different selectors the same change, each as it sees it', async () => {
    await make('a', { labels: { app: 'a', tier: 'front' } });
    const told: string[][] = [];
    const tell = async (query: string, count: number, act: () => Promise<unknown>) => {
      const events = await client.watch(client.own(`deployments?watch=true${query}`), count, undefined, act);
      told.push(events.map(({ type }) => type));
    };
    const change = () => client.ask('PUT', '/api/v1/deployments/a', { body: { labels: { app: 'a', tier: 'back' } } });
    await tell('', 2, () =>
      tell('&labelSelector=tier%3Dfront', 2, () => tell('&labelSelector=tier%3Dback', 1, change)),
    );
    expect(told).to.deep.equal([['ADDED'], ['ADDED', 'DELETED'], ['ADDED', 'MODIFIED']]);
  });

  it('shows tenants as namespaces', async () => {
    const { body } = await client.ask('GET', '/k8s/api/v1/namespaces');
    expect(names(body)).to.deep.equal([lab.a]);
    expect((await client.ask('GET', `/k8s/api/v1/namespaces/${lab.a}`)).body['status']).to.deep.equal({
      phase: 'Active',
    });
    const admin = new FaceClient(lab, (await lab.token({ kind: 'admin' })).text, lab.b);
    expect(names((await admin.ask('GET', '/k8s/api/v1/namespaces')).body)).to.have.members([lab.a, lab.b]);
    expect((await admin.ask('GET', admin.own('deployments'))).status).to.equal(200);
    expect((await admin.ask('GET', '/k8s/apis/mooring.io/v1/deployments')).status).to.equal(400);
  });

  it('refuses in the words of Kubernetes, with our own record beside them', async () => {
    const absent = await client.ask('GET', client.own('deployments/nope'));
    expect([absent.status, absent.body['kind'], absent.body['reason']]).to.deep.equal([404, 'Status', 'NotFound']);
    expect(absent.body['message']).to.equal('deployments.mooring.io "nope" not found');
    expect(absent.body['details']).to.deep.include({ name: 'nope', group: 'mooring.io', kind: 'deployments' });

    const strangers: readonly [status: number, reason: string, path: string, token?: string][] = [
      [401, 'Unauthorized', client.own('deployments'), 'mtk_wrong'],
      [404, 'NotFound', '/k8s/apis/apps/v1'],
      [404, 'NotFound', client.own('gadgets')],
      [404, 'NotFound', '/k8s'],
    ];
    for (const [status, reason, path, token = client.token] of strangers) {
      const refused = await lab.ask('GET', path, { token });
      expect([refused.status, refused.body['kind'], refused.body['reason']], path).to.deep.equal([
        status,
        'Status',
        reason,
      ]);
      const { causes, rejections } = refused.body['details'] as Record<string, readonly Record<string, string>[]>;
      expect(causes![0]!['reason']).to.equal(rejections![0]!['code']);
    }
    const unsupported = await client.ask('DELETE', '/k8s/version');
    expect([unsupported.status, unsupported.body['reason']]).to.deep.equal([405, 'MethodNotAllowed']);
  });
});
