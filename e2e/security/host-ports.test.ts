import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import type { Client } from '../../pkg/client/index.js';
import { Child } from '../lab/child.js';
import { ControlPlane } from '../lab/control-plane.js';
import { requestJoinToken, unwrap } from '../lab/tenant-client.js';

interface DeploymentView {
  readonly status?: { readonly phase: string; readonly message: string };
}

const toDocument = (hostPort: number) => ({
  kind: 'Deployment',
  name: `port-${hostPort}`,
  image: 'registry.example.com/shop/web:1.0.0',
  ports: [{ containerPort: 80, hostPort }],
});

describe('a deployment that asks for a host port of the platform', () => {
  let plane: ControlPlane;
  let agent: Child;
  let client: Client;

  before(async () => {
    plane = await ControlPlane.start({ MOORING_RESERVED_HOST_PORTS: '2379-2380', MOORING_REGISTRY_CHECK: 'false' });
    client = plane.client(plane.access.tenantToken);
    const token = await requestJoinToken(client);
    const server = [`--server=${plane.server}`, '--plain-http'];
    const argv = ['--name=shared', '--engine=simulated', ...server, '--reserved-host-ports=9000-9001'];
    agent = new Child('agent', {
      argv: [...argv, `--state-dir=${join(plane.folder, 'agent')}`],
      environment: { MOORING_JOIN_TOKEN: token },
      logFile: join(plane.folder, 'agent.log'),
    });
    agent.start();
  });
  after(async () => {
    await agent.kill('SIGKILL');
    await plane.stop();
  });

  const post = (hostPort: number) => client.request('POST', '/api/v1/deployments', { body: toDocument(hostPort) });

  it('is refused, and nothing is stored', async () => {
    const answer = await post(2380);

    expect(answer).to.have.nested.property('rejections[0].code', 'host_port_reserved');
    expect(answer).to.have.nested.property('rejections[0].field', 'ports[0].hostPort');
    expect((await plane.storedKeys()).filter(key => key.includes('port-2380'))).to.deep.equal([]);
  });

  it('gets no container from an agent that reserves the port, and the status says why', async () => {
    const own = Number(new URL(plane.server).port);
    for (const hostPort of [9001, own]) {
      expect((await post(hostPort)).ok).to.equal(true);
      await until(`the status to say what the agent said of port ${hostPort}`, async () => {
        const view = unwrap(await client.request<DeploymentView>('GET', `/api/v1/deployments/port-${hostPort}`));
        return view.status?.message.includes(`host port ${hostPort} is reserved on this node`);
      });
    }
  });

  it('runs with any other port', async () => {
    expect((await post(9002)).ok).to.equal(true);
    await until('the deployment to run', async () => {
      const answer = await client.request<DeploymentView>('GET', '/api/v1/deployments/port-9002');
      return answer.ok && answer.value.status?.phase === 'Running';
    });
  });
});
