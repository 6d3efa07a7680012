import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { FakeKubelet, FakeKubernetes, type FakeProgram } from '../../dev/kubernetes/index.js';
import { until } from '../../dev/testing/index.js';
import type { Client } from '../../pkg/client/index.js';
import { Child } from '../lab/child.js';
import { ControlPlane } from '../lab/control-plane.js';
import { unwrap } from '../lab/tenant-client.js';

const NAMESPACE = 'mooring';
const image = '127.0.0.1:5000/shop/web:1.0.0';

interface DeploymentView {
  readonly status?: { readonly phase: string; readonly message: string; readonly replicas: object };
}

describe('a node that is a Kubernetes cluster', () => {
  let plane: ControlPlane;
  let cluster: FakeKubernetes;
  let kubelet: FakeKubelet;
  let agent: Child;
  let client: Client;
  let folder: string;
  const programs: Record<string, FakeProgram> = { 'job.report.1': { prints: ['counted'], exitCode: 3 } };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moor-'));
    cluster = await new FakeKubernetes({ graceful: ['pods'] }).start();
    const registryHasImage = () => true;
    const program = (name: string) => programs[name] ?? { prints: [`hello from ${name}`] };
    kubelet = new FakeKubelet(cluster, { namespace: NAMESPACE, registryHasImage, program });
    cluster.intercept = kubelet.answer;
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(
      kubeconfig,
      JSON.stringify({
        'current-context': 'c',
        clusters: [{ name: 'c', cluster: { server: cluster.url, 'insecure-skip-tls-verify': true } }],
        users: [{ name: 'c', user: {} }],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
      }),
    );
    plane = await ControlPlane.start({ MOORING_REGISTRY_CHECK: 'false', MOORING_REGISTRY_INSECURE: '127.0.0.1:5000' });
    client = plane.client(plane.access.tenantToken);
    const { token } = await send<{ token: string }>('POST', '/api/v1/nodes/join-tokens', {});
    const engine = ['--engine=kubernetes', `--kubeconfig=${kubeconfig}`, `--namespace=${NAMESPACE}`];
    agent = new Child('agent', {
      argv: [
        '--name=cluster-1',
        `--server=${plane.server}`,
        '--plain-http',
        ...engine,
        '--capacity=cpu=8,memory=16Gi',
        `--state-dir=${join(folder, 'agent')}`,
      ],
      environment: { MOORING_JOIN_TOKEN: token },
      logFile: join(folder, 'agent.log'),
    });
    agent.start();
  });
  after(async () => {
    await agent?.kill('SIGKILL');
    kubelet?.stop();
    await cluster?.stop();
    await plane?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const send = async <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) =>
    unwrap(await client.request<T>(method, path, body && { body }));
  const place = { group: '', version: 'v1', plural: 'pods', namespace: NAMESPACE };
  const findPod = (name: string) => cluster.objects.find(place, name);
  const untilPhase = (name: string, phase: string) =>
    until(`${name} to be ${phase}`, async () => {
      const view = await send<DeploymentView>('GET', `/api/v1/deployments/${name}`);
      return view.status?.phase === phase;
    });

  it('runs a deployment as a restricted Pod, and makes a new one when it ends', async () => {
    await send('POST', '/api/v1/deployments', { kind: 'Deployment', name: 'web', image, resources: { cpu: '250m' } });
    await untilPhase('web', 'Running');
    const pod = findPod('web')!;
    expect(pod.metadata.labels).to.include({ 'mooring.io/deployment': 'web' });
    expect(pod.spec).to.have.nested.property('securityContext.runAsNonRoot', true);
    expect(pod.spec).to.have.nested.property('containers[0].resources.requests.cpu', '250m');

    kubelet.end('web', 1);
    await until(
      'another Pod to run',
      () => kubelet.isRunning('web') && findPod('web')?.metadata.uid !== pod.metadata.uid,
    );
    await untilPhase('web', 'Running');
  });

  it('tells the exit code of a job', async () => {
    await send('POST', '/api/v1/jobs', { kind: 'Job', name: 'report', image, backoffLimit: 0 });
    await until('the exit code', async () => {
      const job = await send<object>('GET', '/api/v1/jobs/report');
      return JSON.stringify(job).includes('"exitCode":3');
    });
  });

  it('says what it lacks, and is given nothing that needs it', async () => {
    const node = await send<object>('GET', '/api/v1/nodes/cluster-1');
    expect(node).to.have.property('lacks').that.includes('host_ports');
    expect(node).to.have.nested.property('engine.name', 'kubernetes');
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    await send('POST', '/api/v1/deployments', { kind: 'Deployment', name: 'edge', image, ports });
    await until('the reason', async () => {
      const view = await send<DeploymentView>('GET', '/api/v1/deployments/edge');
      return view.status?.message.includes('1 capability');
    });
    expect(findPod('edge')).to.equal(undefined);
  });

  it('keeps its Pods through a restart of the agent, and removes them with their deployment', async () => {
    const { uid } = findPod('web')!.metadata;
    await agent.kill('SIGKILL');
    agent.start();
    await send('DELETE', '/api/v1/deployments/edge');
    await until('the node to be ready', async () => {
      const node = await send<{ status: string }>('GET', '/api/v1/nodes/cluster-1');
      return node.status === 'ready';
    });
    expect(findPod('web')?.metadata.uid).to.equal(uid);
    await send('DELETE', '/api/v1/deployments/web');
    await until('no Pod', () => findPod('web') === undefined);
  });
});
