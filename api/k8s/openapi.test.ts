import { expect } from 'chai';

import { renderCrds } from '../../crds/schemas/index.js';
import { ApiLab } from '../api-lab.testing.js';
import { FaceClient } from './face-lab.testing.js';

type Node = Readonly<Record<string, unknown>>;

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Node>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Node>> };
}

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Node } }[];
  };
}

describe('the OpenAPI document of the Kubernetes face', () => {
  let lab: ApiLab;
  let client: FaceClient;
  let document: Document;
  before(async () => {
    lab = await new ApiLab().start();
    client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
    const { body: index } = await client.ask('GET', '/k8s/openapi/v3');
    const [path] = Object.values(index['paths'] as Readonly<Record<string, { readonly serverRelativeURL: string }>>);
    document = (await client.ask('GET', path!.serverRelativeURL)).body as unknown as Document;
  });
  after(() => lab.stop());

  it('is found by the index under the name of the group, with a hash that clients keep it by', async () => {
    const { body } = await client.ask('GET', '/k8s/openapi/v3');
    expect(Object.keys(body['paths'] as object)).to.deep.equal(['apis/mooring.io/v1']);
    expect(JSON.stringify(body)).to.match(/"\/k8s\/openapi\/v3\/apis\/mooring\.io\/v1\?hash=[0-9a-f]{32}"/);
  });

  it('has the schemas that documents are judged by', () => {
    for (const definition of Object.values(renderCrds()) as unknown as readonly Definition[]) {
      const { kind } = definition.spec.names;
      const {
        description,
        'x-kubernetes-group-version-kind': named,
        ...schema
      } = document.components.schemas[`io.mooring.v1.${kind}`] as Node;
      expect(schema, kind).to.deep.equal(definition.spec.versions[0]!.schema.openAPIV3Schema);
      expect(description, kind).to.be.a('string').and.not.equal('');
      expect(named, kind).to.deep.equal([{ group: 'mooring.io', version: 'v1', kind }]);
    }
  });

  it('has the paths of every resource, with the writes that discovery names, and refers to nothing that is not there', async () => {
    const { body } = await client.ask('GET', '/k8s/apis/mooring.io/v1');
    const resources = (
      body['resources'] as readonly { readonly name: string; readonly verbs: readonly string[] }[]
    ).filter(({ name }) => !name.includes('/'));
    for (const { name, verbs } of resources) {
      const path = `/apis/mooring.io/v1/namespaces/{namespace}/${name}`;
      const methods = [
        ...Object.keys(document.paths[path] ?? {}),
        ...Object.keys(document.paths[`${path}/{name}`] ?? {}),
      ];
      expect(methods.includes('post'), name).to.equal(verbs.includes('create'));
      for (const [method, verb] of [
        ['put', 'update'],
        ['patch', 'patch'],
        ['delete', 'delete'],
      ] as const) {
        expect(methods.includes(method), `${method} ${name}`).to.equal(verbs.includes(verb));
      }
    }
    for (const [, ref] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
      expect(document.components.schemas).to.have.property(ref!);
    }
  });
});
