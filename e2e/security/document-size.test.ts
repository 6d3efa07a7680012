import { join } from 'node:path';

import { expect } from 'chai';

import { WORKLOAD_BYTES_MAX } from '../../crds/workload/index.js';
import { until } from '../../dev/testing/index.js';
import type { Client } from '../../pkg/client/index.js';
import { Child } from '../lab/child.js';
import { ControlPlane } from '../lab/control-plane.js';
import { requestJoinToken, unwrap } from '../lab/tenant-client.js';

interface DeploymentView {
  readonly status?: { readonly phase: string; readonly readyReplicas: number };
}

/** As long as the value of a variable may be. */
const LONGEST = 32_768;

/** Together more than etcd takes in one request. */
const REPLICAS = 8;

/** A deployment whose stored text, defaults included, has exactly so many bytes. */
function sizedDocument(name: string, bytes: number, replicas = 1): Record<string, unknown> {
  const image = 'registry.example.com/shop/web:1.0.0';
  const environment: Record<string, string> = {};
  const document = { kind: 'Deployment', name, image, replicas, secretsVersion: 0, environment };
  for (let number = 0; JSON.stringify(document).length < bytes; number++) {
    const key = `A${String(number).padStart(3, '0')}`;
    environment[key] = '';
    const left = bytes - JSON.stringify(document).length;
    if (left < 0) throw new Error('the last variable does not fit');
    environment[key] = 'x'.repeat(Math.min(left, LONGEST));
  }
  return document;
}

/** One limit that always fits: what admission accepts, every record that is made from it fits into etcd. */
describe('a document that is too large for the database', () => {
  let plane: ControlPlane;
  let agent: Child;
  let client: Client;

  before(async () => {
    plane = await ControlPlane.start({ MOORING_REGISTRY_CHECK: 'false' });
    client = plane.client(plane.access.tenantToken);
    const token = await requestJoinToken(client);
    const server = [`--server=${plane.server}`, '--plain-http'];
    agent = new Child('agent', {
      argv: ['--name=one', '--engine=simulated', ...server, `--state-dir=${join(plane.folder, 'agent')}`],
      environment: { MOORING_JOIN_TOKEN: token },
      logFile: join(plane.folder, 'agent.log'),
    });
    agent.start();
  });
  after(async () => {
    await agent.kill('SIGKILL');
    await plane.stop();
  });

  const post = (body: unknown, query = '') => client.request('POST', `/api/v1/deployments${query}`, { body });

  for (const bytes of [WORKLOAD_BYTES_MAX + 1, 700_000, 1_040_000]) {
    it(`is refused with its code, and nothing is stored: ${bytes} bytes`, async () => {
      for (const query of ['?dryRun=true', '']) {
        const refused = await post(sizedDocument('large', bytes), query);
        const [first] = refused.ok ? [] : refused.rejections;
        expect([first?.code, first?.field, first?.received]).to.deep.equal([
          'document_too_large',
          'environment',
          `${bytes} bytes`,
        ]);
      }
      expect((await plane.storedKeys()).filter(key => key.includes('/large'))).to.deep.equal([]);
    });
  }

  it('is accepted at the limit, and all its replicas are placed and run', async () => {
    unwrap(await post(sizedDocument('largest', WORKLOAD_BYTES_MAX, REPLICAS)));
    const shown = await until('all replicas to be ready', async () => {
      const view = unwrap(await client.request<DeploymentView>('GET', '/api/v1/deployments/largest'));
      return view.status?.readyReplicas === REPLICAS && view;
    });
    expect(shown.status?.phase).to.equal('Running');
    unwrap(await client.request('PUT', '/api/v1/deployments/largest', { body: { replicas: 4 } }));
    const grown = await client.request('PUT', '/api/v1/deployments/largest', { body: { labels: { team: 'shop' } } });
    expect(grown).to.have.nested.property('rejections[0].code', 'document_too_large');
    unwrap(await client.request('DELETE', '/api/v1/deployments/largest'));
    const answer = () => client.request('GET', '/api/v1/deployments/largest');
    await until('the deployment to be gone', async () => !(await answer()).ok);
  });
});
