import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { FakeKubelet, FakeKubernetes, type FakeProgram } from '../../../../dev/kubernetes/index.js';
import { sleep, systemClock } from '../../../clock/index.js';
import type { ContainerSpec } from '../engine.js';
import { KubernetesEngine, type KubernetesEngineOptions } from './kubernetes-engine.js';

export const NAMESPACE = 'mooring';
const QUOTA = { metadata: { name: 'all' }, spec: { hard: { 'requests.cpu': '16', 'requests.memory': '64Gi' } } };

/** The replica that containers are made for. */
export const podOwner: ContainerSpec['owner'] = {
  nodeId: 'node_1',
  tenant: '0b0f7a0e-0000-4000-8000-000000000001',
  deployment: 'web',
  deploymentUid: 'dep_1',
  replica: 'rep_1',
  slot: 0,
  generation: 1,
  templateHash: 'h1',
};

/** A container of it. */
export function makePodOrder(change: Partial<ContainerSpec> = {}): ContainerSpec {
  const names = { name: 'web', image: 'registry.test/web:1', network: 'mooring-t', alias: 'web' };
  return { ...names, environment: {}, ports: [], owner: podOwner, ...change };
}

/** A stand-in cluster with a kubelet, and an engine on it. */
export async function openKubernetesLab(
  program: (name: string, environment: ReadonlyMap<string, string>) => FakeProgram = () => ({ prints: ['hello'] }),
  options: Partial<KubernetesEngineOptions> = {},
) {
  const folder = await mkdtemp(join(tmpdir(), 'moor-'));
  const cluster = await new FakeKubernetes({ token: 'let-me-in', graceful: ['pods'] }).start();
  const registryHasImage = (image: string) => !image.includes('absent');
  const kubelet = new FakeKubelet(cluster, { namespace: NAMESPACE, registryHasImage, program });
  cluster.intercept = kubelet.answer;
  cluster.objects.create(toResource('resourcequotas'), QUOTA as never);
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(buildKubeconfig(cluster.url)));
  const open = () => new KubernetesEngine({ kubeconfig, ...options });
  const engine = open();
  return {
    engine,
    cluster,
    kubelet,
    kubeconfig,
    /** Another agent's view of the same cluster. */
    open,
    list: (plural: string) => cluster.objects.list(toResource(plural)),
    image: 'registry.test/demo:1',
    absentImage: 'registry.test/absent:1',
    away: async () => {
      cluster.intercept = () => 'cut';
      cluster.cutConnections();
    },
    back: async () => {
      cluster.intercept = kubelet.answer;
    },
    pass: async (ms: number) => {
      kubelet.check();
      await sleep(systemClock, Math.min(ms, 200));
    },
    async close() {
      await engine.close();
      kubelet.stop();
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function toResource(plural: string) {
  return { group: '', version: 'v1', plural, namespace: NAMESPACE };
}

/** JSON is YAML too. */
export function buildKubeconfig(server: string, token = 'let-me-in') {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'lab',
    clusters: [{ name: 'lab', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'lab', user: { token } }],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'lab', namespace: NAMESPACE } }],
  };
}
