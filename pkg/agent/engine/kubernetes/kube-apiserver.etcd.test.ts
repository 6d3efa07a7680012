import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';

import { askCluster, KubeApiserver, kubeApiserverProgram } from '../../../../dev/kubernetes/index.js';
import { until } from '../../../../dev/testing/index.js';
import { Secret } from '../../../secrets/index.js';
import { KubernetesEngine } from './kubernetes-engine.js';
import { buildKubeconfig, makePodOrder, NAMESPACE, podOwner } from './kubernetes-lab.testing.js';
import { isGated, type Pod } from './pod-status.js';

const describeIf = kubeApiserverProgram === '' ? describe.skip : describe;

const NOW = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
const MAIN = { name: 'main', image: 'x', imageID: 'sha256:1', ready: false, restartCount: 0 };
const RUNNING = { phase: 'Running', containerStatuses: [{ ...MAIN, state: { running: { startedAt: NOW } } }] };
const end = (exitCode: number, reason: string) => ({
  phase: 'Failed',
  containerStatuses: [{ ...MAIN, state: { terminated: { exitCode, reason, startedAt: NOW, finishedAt: NOW } } }],
});

const order = makePodOrder({
  name: 'web.1',
  environment: { MODE: '$(HOME)' },
  secrets: new Map([['DB_password', new Secret('canary-of-a-secret')]]),
  healthCheck: { type: 'exec', command: ['true'], startPeriod: '10m', retries: 1 },
  ports: [{ containerPort: 80, protocol: 'tcp' }],
  user: '1000:1000',
  readOnlyRootFilesystem: true,
  limits: { cpu: 100, memory: 2 ** 25 },
  owner: { ...podOwner, slot: 1 },
});

const COLLECTIONS: Readonly<Record<string, string>> = {
  Namespace: '/api/v1/namespaces',
  ResourceQuota: `/api/v1/namespaces/${NAMESPACE}/resourcequotas`,
  ServiceAccount: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`,
  Role: `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/roles`,
  RoleBinding: `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`,
};

/** What the guide tells one to apply: the engine has the role that it gives, and no more. */
function readManifest(): readonly { readonly kind: string }[] {
  const page = readFileSync('docs/how-to/kubernetes-engine.md', 'utf8');
  const [, written = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  return parseAllDocuments(written).map(each => each.toJS() as { readonly kind: string });
}

describeIf('the kubernetes engine on a kube-apiserver (MOORING_KUBE_APISERVER names the program)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'moor-'));
  let server: KubeApiserver;
  let engine: KubernetesEngine;

  before(async function () {
    this.timeout(300_000);
    const agent = `system:serviceaccount:${NAMESPACE}:mooring-agent`;
    server = await new KubeApiserver({ 'agent-token': agent }).start();
    for (const { kind, ...object } of readManifest()) {
      const path = COLLECTIONS[kind]!;
      const { status, body } = await askCluster(server, 'POST', path, object);
      expect(status, `${kind}: ${JSON.stringify(body)}`).to.equal(201);
    }
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, JSON.stringify(buildKubeconfig(server.url, 'agent-token')), { mode: 0o600 });
    engine = new KubernetesEngine({ kubeconfig, capacity: { cpu: 1000, memory: 2 ** 30 } });
  });
  after(async () => {
    await engine?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const list = async <T>(plural: string) => {
    const path = `/api/v1/namespaces/${NAMESPACE}/${plural}`;
    return (await askCluster<{ readonly items: readonly T[] }>(server, 'GET', path)).body.items;
  };
  /** Says of the Pod that waits for it what a kubelet would. */
  const tell = async (isMeant: (pod: Pod) => boolean, status: object) => {
    const pod = await until('the Pod', async () =>
      (await list<Pod>('pods')).find(each => !isGated(each) && isMeant(each)),
    );
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod.metadata.name}/status`;
    await askCluster(server, 'PATCH', path, { status });
  };

  it('has Pods that the server and its Pod Security accept, from creation to removal', async () => {
    await Promise.all([engine.pull(order.image), tell(() => true, end(128, 'StartError'))]);
    const id = await engine.create(order);
    expect(await engine.create(order)).to.equal(id);
    expect(await engine.inspect(id)).to.include({ state: 'created', name: 'web.1' });
    expect(await list('secrets')).to.have.length(1);
    await Promise.all([engine.start(id), tell(() => true, RUNNING)]);
    expect(await engine.inspect(id)).to.include({ state: 'running', health: 'starting' });
    expect(await list('secrets')).to.deep.equal([]);
    const isEnding = ({ spec }: Pod) => (spec as { activeDeadlineSeconds?: number }).activeDeadlineSeconds === 1;
    await Promise.all([engine.stop(id, 5), tell(isEnding, end(143, 'Error'))]);
    expect(await engine.inspect(id)).to.include({ state: 'exited', exitCode: 143 });
    await engine.remove(id);
    expect(await list('pods')).to.deep.equal([]);
  });
});
