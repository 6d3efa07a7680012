import { expect } from 'chai';

import { ApiLab } from '../api-lab.testing.js';
import { FaceClient, type TestObject } from './face-lab.testing.js';

interface TestResource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

const WRITES: readonly string[] = ['create', 'update', 'patch', 'delete'];

/** Of each kind, the spec of an object that can be created. */
const specs: Readonly<Record<string, object>> = {
  deployments: { image: 'registry.example.com/shop/web:1.4.2', replicas: 1 },
  jobs: { image: 'registry.example.com/shop/web:1.4.2' },
  networks: { internal: true },
  volumes: { class: 'ephemeral', sizeBytes: 2 ** 20 },
  nodes: {},
  backups: {},
};

describe('the verbs that discovery names', () => {
  let lab: ApiLab;
  let client: FaceClient;
  let resources: readonly TestResource[];

  before(async () => {
    lab = await new ApiLab().start();
    client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
    await lab.token({ kind: 'node', tenant: lab.a, node: `node_${'1'.repeat(26)}`, nodeName: 'one' });
    const { body } = await client.ask('GET', '/k8s/apis/mooring.io/v1');
    resources = (body['resources'] as readonly TestResource[]).filter(({ name }) => !name.includes('/'));
  });
  after(() => lab.stop());

  /** The writes of a resource that do something. */
  const tryWrites = async ({ name: plural, kind }: TestResource) => {
    const about = { apiVersion: 'mooring.io/v1', kind, metadata: { name: 'tried' } };
    const one = client.own(`${plural}/tried`);
    const made = await client.ask('POST', client.own(plural), { body: { ...about, spec: specs[plural] } });
    const stored = made.body as unknown as TestObject;
    const annotations = { note: 'put' };
    const put = { ...stored, metadata: { ...stored.metadata, annotations, name: 'tried' } };
    const replaced = await client.ask('PUT', one, { body: put });
    const patched = await client.ask('PATCH', one, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { metadata: { annotations: { note: 'patched' } } },
    });
    const deleted = await client.ask('DELETE', one);
    const answers = [made, replaced, patched, deleted];
    return WRITES.filter((_, at) => answers[at]!.status < 300);
  };

  for (const plural of Object.keys(specs)) {
    it(`of ${plural} are those that work, and that auth can-i allows`, async () => {
      const resource = resources.find(({ name }) => name === plural)!;
      expect(resource.verbs.filter(verb => WRITES.includes(verb))).to.deep.equal(await tryWrites(resource));
      for (const verb of WRITES) {
        const resourceAttributes = { namespace: lab.a, verb, group: 'mooring.io', resource: plural };
        const path = '/k8s/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
        const { body } = await client.ask('POST', path, { body: { spec: { resourceAttributes } } });
        const { allowed } = body['status'] as { readonly allowed: boolean };
        expect(allowed, verb).to.equal(resource.verbs.includes(verb));
      }
    });
  }

  it('are known of every resource', () => {
    expect(resources.map(({ name }) => name)).to.have.members(Object.keys(specs));
  });
});
