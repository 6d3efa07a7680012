import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import { until } from '../../dev/testing/index.js';
import type { EtcdStore } from '../../pkg/store/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { TenantClient } from '../lab/tenant-client.js';

const KILLS = 10;
const IMAGE = 'registry.example.com/web:1';

interface CachedObject {
  readonly metadata?: { readonly name?: string; readonly uid?: string };
  readonly spec?: { readonly replicas?: number };
}

interface Stored {
  readonly name: string;
  readonly replicas: number;
  readonly metadata: { readonly uid: string };
}

const sortLines = (lines: Iterable<string>) => [...lines].toSorted((a, b) => a.localeCompare(b));
const describeCached = ({ metadata, spec }: CachedObject) => `${metadata?.name} ${metadata?.uid} ${spec?.replicas}`;

describe('an informer of @kubernetes/client-node', function () {
  let plane: ControlPlane | undefined;
  let store: EtcdStore | undefined;
  before(async function () {
    this.timeout(300_000);
    plane = await ControlPlane.start({ MOORING_REGISTRY_CHECK: 'false', MOORING_LEADER_LEASE_SECONDS: '2' });
    store = plane.openStore();
  });
  after(async () => {
    await store?.close();
    await plane?.stop();
  });

  /** An informer that begins again when its connection breaks, and all that it has told. */
  const startInformer = async (server: string, { id, token }: TenantClient) => {
    const { KubeConfig, makeInformer, CustomObjectsApi } = await import('@kubernetes/client-node');
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'mooring', server: `${server}/k8s`, skipTLSVerify: true },
      { name: 'shop', token },
    );
    const api = config.makeApiClient(CustomObjectsApi);
    const of = { group: 'mooring.io', version: 'v1', namespace: id, plural: 'deployments' };
    const list = async () => (await api.listNamespacedCustomObject(of)) as { items: CachedObject[]; metadata: object };
    const told = new Map<string, string>();
    let breaks = 0;
    let isOver = false;
    const informer = makeInformer(config, `/apis/mooring.io/v1/namespaces/${id}/deployments`, list as never);
    for (const event of ['add', 'update'] as const) {
      informer.on(event, object => void told.set(object.metadata?.name ?? '', describeCached(object as CachedObject)));
    }
    informer.on('delete', object => void told.delete(object.metadata?.name ?? ''));
    let isWaiting = false;
    const restart = () => {
      if (isOver || isWaiting) return;
      isWaiting = true;
      breaks++;
      setTimeout(() => {
        isWaiting = false;
        if (!isOver) informer.start().catch(restart);
      }, 100);
    };
    informer.on('error', restart);
    await informer.start();
    const stop = async () => {
      isOver = true;
      await informer.stop();
    };
    return { told, countBreaks: () => breaks, listCached: () => informer.list() as readonly CachedObject[], stop };
  };

  it(`has exactly what is stored after ${KILLS} SIGKILLs of the server, with deletions while it is down`, async function () {
    this.timeout(600_000);
    const { api, controllers, server } = plane!;
    const tenant = await TenantClient.open(plane!, 'informed');
    const apply = (name: string, replicas = 1) => tenant.apply({ name, image: IMAGE, replicas });
    const isStored = async (name: string) => (await store!.get(keys.deployment(tenant.id, name))) !== undefined;
    for (const name of ['first', 'reborn', 'round-0']) await apply(name);
    const informer = await startInformer(server, tenant);
    try {
      for (let round = 1; round <= KILLS; round++) {
        await apply(`round-${round}`);
        await tenant.change('first', { replicas: round });
        // Their deletion is asked for, and is carried out while there is no server to tell it.
        controllers.pause();
        const going = ['reborn', `round-${round - 1}`];
        for (const name of going) await tenant.client.request('DELETE', `/api/v1/deployments/${name}`);
        await api.kill('SIGKILL');
        for (const name of going) expect(await isStored(name), name).to.equal(true);
        controllers.resume();
        await until('the deletions', async () => !(await Promise.all(going.map(isStored))).includes(true));
        api.start();
        await plane!.serving();
        await apply('reborn', round);
      }
      const answer = await tenant.client.request<{ items: readonly Stored[] }>('GET', '/api/v1/deployments');
      if (!answer.ok) throw new Error('the deployments cannot be read');
      const stored = answer.value.items.map(({ name, metadata, replicas }) => `${name} ${metadata.uid} ${replicas}`);
      expect(stored).to.have.length(3);
      const hasAll = (lines: Iterable<string>) => sortLines(lines).join() === sortLines(stored).join();
      await until('the informer to have it all', () => hasAll(informer.told.values()));
      await until('its cache to have it all', () => hasAll(informer.listCached().map(describeCached)));
      expect(informer.countBreaks()).to.be.at.least(1);
    } finally {
      await informer.stop();
    }
  });
});
