import type { CoordinationV1Api, CoreV1Api, CustomObjectsApi, KubeConfig, V1Secret } from '@kubernetes/client-node';
import { expect } from 'chai';

import { until } from '../testing/index.js';
import { askCluster, FakeKubernetes, StatusError, type StoredObject } from './index.js';

const at = { group: 'mooring.io', version: 'v1', namespace: 'shop', plural: 'deployments' };
const web = { metadata: { name: 'web', labels: { app: 'web' } }, spec: { replicas: 1 }, status: { phase: 'made up' } };

describe('the stand-in of the Kubernetes API', () => {
  let client: typeof import('@kubernetes/client-node');
  let cluster: FakeKubernetes;
  let config: KubeConfig;
  let custom: CustomObjectsApi;
  let core: CoreV1Api;
  before(async () => {
    client = await import('@kubernetes/client-node');
  });
  beforeEach(async () => {
    cluster = await new FakeKubernetes({ token: 'let-me-in', graceful: ['pods'] }).start();
    config = connect('let-me-in');
    custom = config.makeApiClient(client.CustomObjectsApi);
    core = config.makeApiClient(client.CoreV1Api);
  });
  afterEach(() => cluster.stop());

  const connect = (token: string) => {
    const made = new client.KubeConfig();
    made.loadFromClusterAndUser({ name: 'stand-in', server: cluster.url, skipTLSVerify: true }, { name: 'me', token });
    return made;
  };
  const get = async () => (await custom.getNamespacedCustomObject({ ...at, name: 'web' })) as StoredObject;
  const codeOf = async (work: Promise<unknown>) => {
    try {
      await work;
    } catch (thrown) {
      return (thrown as { readonly code?: number }).code;
    }
    return undefined;
  };

  it('creates, reads, lists by selector and knows who asks', async () => {
    await custom.createNamespacedCustomObject({ ...at, body: web });
    expect(await codeOf(custom.createNamespacedCustomObject({ ...at, body: web }))).to.equal(409);
    const made = await get();
    expect(made).to.deep.include({ apiVersion: 'mooring.io/v1', spec: { replicas: 1 } });
    expect(made).to.not.have.property('status');
    const { items } = (await custom.listNamespacedCustomObject({ ...at, labelSelector: 'app in (api)' })) as {
      items: [];
    };
    expect(items).to.deep.equal([]);
    expect(await codeOf(custom.getNamespacedCustomObject({ ...at, name: 'api' }))).to.equal(404);
    const stranger = connect('x').makeApiClient(client.CustomObjectsApi);
    expect(await codeOf(stranger.getNamespacedCustomObject({ ...at, name: 'web' }))).to.equal(401);
  });

  it('refuses a write by who has read another version, and keeps spec and status apart', async () => {
    await custom.createNamespacedCustomObject({ ...at, body: web });
    const read = await get();
    const status = { ...read, spec: { replicas: 9 }, status: { phase: 'Ready' } };
    await custom.replaceNamespacedCustomObjectStatus({ ...at, name: 'web', body: status });
    expect(await get()).to.deep.include({ spec: { replicas: 1 }, status: { phase: 'Ready' } });
    expect((await get()).metadata.generation).to.equal(1);
    const late = custom.replaceNamespacedCustomObject({ ...at, name: 'web', body: { ...read, spec: { replicas: 2 } } });
    expect(await codeOf(late)).to.equal(409);
    const body = [{ op: 'replace', path: '/spec/replicas', value: 3 }];
    await custom.patchNamespacedCustomObject({ ...at, name: 'web', body });
    expect(await get()).to.deep.include({ spec: { replicas: 3 }, status: { phase: 'Ready' } });
    expect((await get()).metadata.generation).to.equal(2);
  });

  it('keeps what is deleted until its finalizers are gone, and what it owns goes with it', async () => {
    await custom.createNamespacedCustomObject({ ...at, body: { metadata: { name: 'web', finalizers: ['a/b'] } } });
    const { uid } = (await get()).metadata;
    const ownerReferences = [{ apiVersion: 'mooring.io/v1', kind: 'Deployment', name: 'web', uid }];
    const body = { metadata: { name: 'key', ownerReferences }, stringData: { user: 'me' } };
    const secret: V1Secret = await core.createNamespacedSecret({ namespace: 'shop', body });
    expect(secret.data).to.deep.equal({ user: 'bWU=' });
    const other = custom.deleteNamespacedCustomObject({ ...at, name: 'web', body: { preconditions: { uid: 'x' } } });
    expect(await codeOf(other)).to.equal(409);
    await custom.deleteNamespacedCustomObject({ ...at, name: 'web' });
    const marked = await get();
    expect(marked.metadata).to.have.property('deletionTimestamp');
    const { finalizers: _, ...metadata } = marked.metadata;
    await custom.replaceNamespacedCustomObject({ ...at, name: 'web', body: { ...marked, metadata } });
    expect(await codeOf(get())).to.equal(404);
    expect((await core.listNamespacedSecret({ namespace: 'shop' })).items).to.deep.equal([]);
  });

  it('gives pods time to end', async () => {
    const pod = { namespace: 'shop', name: 'web-0' };
    const spec = { containers: [{ name: 'main', image: 'web:1' }] };
    await core.createNamespacedPod({ namespace: 'shop', body: { metadata: { name: 'web-0' }, spec } });
    await core.deleteNamespacedPod({ ...pod, gracePeriodSeconds: 5 });
    expect((await core.readNamespacedPod(pod)).metadata).to.include({ deletionGracePeriodSeconds: 5 });
    await core.deleteNamespacedPod({ ...pod, gracePeriodSeconds: 0 });
    expect(await codeOf(core.readNamespacedPod(pod))).to.equal(404);
  });

  it('tells each change to who watches, and 410 to who comes too late', async () => {
    const seen: string[] = [];
    const errors: unknown[] = [];
    const watch = (resourceVersion?: string) =>
      new client.Watch(config).watch(
        '/apis/mooring.io/v1/namespaces/shop/deployments',
        { labelSelector: 'app=web', ...(resourceVersion !== undefined && { resourceVersion }) },
        (type: string, object: StoredObject) => seen.push(`${type} ${object.metadata?.name ?? ''}`),
        error => errors.push(error),
      );
    await custom.createNamespacedCustomObject({ ...at, body: web });
    const abort = await watch();
    await custom.createNamespacedCustomObject({ ...at, body: { metadata: { name: 'api' } } });
    const body = { ...(await get()), metadata: { name: 'web', labels: {} } };
    await custom.replaceNamespacedCustomObject({ ...at, name: 'web', body });
    await until('the changes', () => seen.length === 2);
    expect(seen).to.deep.equal(['ADDED web', 'DELETED web']);
    cluster.cutConnections();
    await until('the end', () => errors.length === 1);
    cluster.objects.compact();
    const late = await watch('100');
    await until('the refusal', () => seen.length === 3);
    expect(seen.at(-1)).to.equal('ERROR ');
    abort.abort();
    late.abort();
  });

  it('has leases, and fails when it is told to', async () => {
    const leases: CoordinationV1Api = config.makeApiClient(client.CoordinationV1Api);
    const renewTime = new client.V1MicroTime('2026-11-17T01:02:03.456Z');
    const body = { metadata: { name: 'bridge' }, spec: { holderIdentity: 'me', renewTime } };
    const lease = await leases.createNamespacedLease({ namespace: 'shop', body });
    expect(String(lease.spec?.renewTime)).to.equal('2026-11-17T01:02:03.456000Z');
    cluster.intercept = ({ method }) => {
      if (method === 'GET') throw new StatusError(503, 'ServiceUnavailable', 'not now');
      return 'cut-after';
    };
    expect(await codeOf(leases.readNamespacedLease({ namespace: 'shop', name: 'bridge' }))).to.equal(503);
    expect(await codeOf(leases.deleteNamespacedLease({ namespace: 'shop', name: 'bridge' }))).to.not.equal(200);
    cluster.intercept = undefined;
    expect(await codeOf(leases.readNamespacedLease({ namespace: 'shop', name: 'bridge' }))).to.equal(404);
  });

  it('says what it serves, with what was defined', async () => {
    const read = async (path: string) =>
      JSON.stringify((await askCluster({ url: cluster.url, token: 'let-me-in' }, 'GET', path)).body);
    expect(await read('/apis'))
      .to.contain('coordination.k8s.io')
      .and.not.contain('mooring.io');
    expect(await read('/apis/mooring.io/v1')).to.contain('nothing is served');
    cluster.objects.create(
      { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions', namespace: '' },
      { metadata: { name: 'd' } as never, spec: { group: 'mooring.io', names: { plural: 'volumes', kind: 'Volume' } } },
    );
    expect(await read('/apis')).to.contain('mooring.io');
    expect(await read('/apis/mooring.io/v1')).to.contain('"volumes"');
    expect(await read('/openapi/v3')).to.contain('apis/mooring.io/v1');
    expect(await read('/openapi/v3/apis/mooring.io/v1')).to.contain('fieldValidation');
  });
});
