import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';

import { full, least } from '../deployment/admit.testing.js';
import { catalogue } from '../rejections/index.js';
import {
  listBodies,
  renderComponents,
  renderCrds,
  renderJsonSchemas,
  renderOpenApi,
  type RouteDescription,
} from './index.js';

type Node = Readonly<Record<string, unknown>>;

/** Every object inside a value, with the way to it. */
function nodesIn(value: unknown, way = ''): [string, Node][] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value).flatMap(([key, part]) => nodesIn(part, `${way}/${key}`));
  return Array.isArray(value) ? inner : [[way, value as Node], ...inner];
}

const routes: readonly RouteDescription[] = [
  {
    method: 'POST',
    path: '/api/v1/deployments',
    summary: 'creates a deployment',
    tokens: ['tenant', 'admin'],
    query: ['dryRun'],
    headers: ['X-Tenant-ID'],
    body: 'Deployment',
    answer: { status: 201, component: 'DeploymentAnswer' },
    codes: ['replicas_negative', 'name_required', 'node_candidates_unresolvable', 'deployment_already_exists'],
  },
  {
    method: 'GET',
    path: '/api/v1/deployments/{name}',
    summary: 'one deployment',
    tokens: ['tenant'],
    query: [],
    answer: { status: 200, component: 'DeploymentAnswer' },
    codes: ['deployment_not_found'],
  },
  { method: 'GET', path: '/healthz', summary: 'health', tokens: [], query: [], answer: { status: 200 }, codes: [] },
];

describe('the OpenAPI document', () => {
  const document = renderOpenApi(routes, { version: '0.1.0', baseUrl: 'https://moor.example.com' });
  const paths = document['paths'] as Record<string, Record<string, Record<string, unknown>>>;

  it('refers to nothing that is not there', () => {
    const refs = nodesIn(document).flatMap(([, node]) => (typeof node['$ref'] === 'string' ? [node['$ref']] : []));
    expect(refs).not.to.have.length(0);
    for (const ref of new Set(refs)) {
      const found = ref
        .slice(2)
        .split('/')
        .reduce<unknown>((at, part) => (at as Node | undefined)?.[part], document);
      expect(found, ref).to.be.an('object');
    }
  });

  it('shows nothing that is ours alone', () => {
    expect(JSON.stringify(document)).not.to.match(/"(?:x-|~)/);
  });

  it('lists every code by its status', () => {
    const responses = paths['/api/v1/deployments']!['post']!['responses'] as Record<string, { description: string }>;
    expect(Object.keys(responses)).to.deep.equal(['201', '409', '422', '503']);
    expect(responses['422']?.description).to.equal('replicas_negative, name_required, node_candidates_unresolvable');
    expect(responses['503']?.description).to.equal('node_candidates_unresolvable');
  });

  it('names parameters of path, query and header, and gives each operation an id', () => {
    const post = paths['/api/v1/deployments']!['post']!;
    const get = paths['/api/v1/deployments/{name}']!['get']!;
    const places = (operation: Node) =>
      (operation['parameters'] as { name: string; in: string; required: boolean }[]).map(p => [
        p.name,
        p.in,
        p.required,
      ]);
    expect(places(post)).to.deep.equal([
      ['dryRun', 'query', false],
      ['X-Tenant-ID', 'header', false],
    ]);
    expect(places(get)).to.deep.equal([['name', 'path', true]]);
    expect([post['operationId'], get['operationId']]).to.deep.equal(['postDeployments', 'getDeploymentsByName']);
    expect(paths['/healthz']!['get']!['security']).to.deep.equal([]);
  });

  it('knows every code', () => {
    expect(renderComponents()['RejectionCode']?.['enum']).to.deep.equal(Object.keys(catalogue));
  });

  it('has components that a validator understands', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'doc', ...document });
    for (const name of Object.keys(renderComponents())) {
      expect(ajv.getSchema(`doc#/components/schemas/${name}`), name).to.be.a('function');
    }
  });
});

describe('the JSON Schemas', () => {
  const ajv = new Ajv2020({ strict: false });
  const validate = ajv.compile(renderJsonSchemas()['deployment.schema.json']!);

  it('accept what admission accepts', () => {
    for (const document of [least, full]) expect(validate(document), JSON.stringify(validate.errors)).to.equal(true);
  });

  it('refuse an unknown field, a wrong type and a mount path of a secret', () => {
    const secret = { name: 'A', vault_path: 'deployments/a', anchor: 'process' };
    expect(validate({ ...least, bogus: 1 })).to.equal(false);
    expect(validate({ ...least, replicas: 'two' })).to.equal(false);
    expect(validate({ ...least, secrets: [secret] })).to.equal(true);
    expect(validate({ ...least, secrets: [{ ...secret, mount_path: '/x' }] })).to.equal(false);
  });

  it('say what is never stored', () => {
    const schema = renderJsonSchemas()['deployment.schema.json'] as {
      properties: { secrets: { items: { properties: Node } } };
    };
    expect(schema.properties.secrets.items.properties['values']).to.include({ writeOnly: true });
  });
});

/** What Kubernetes knows of a schema in a custom resource definition. */
const KNOWN = new Set([
  'type',
  'description',
  'properties',
  'required',
  'items',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'pattern',
  'format',
  'additionalProperties',
  'x-kubernetes-list-type',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
]);

describe('the custom resource definitions', () => {
  /** Every schema inside a schema, with the way to it. */
  const schemasIn = (schema: Node, way: string): [string, Node][] => [
    [way, schema],
    ...Object.entries((schema['properties'] ?? {}) as Record<string, Node>).flatMap(([name, part]) =>
      schemasIn(part, `${way}.${name}`),
    ),
    ...(schema['items'] ? schemasIn(schema['items'] as Node, `${way}[]`) : []),
    ...(schema['additionalProperties'] ? schemasIn(schema['additionalProperties'] as Node, `${way}{}`) : []),
  ];

  for (const [file, manifest] of Object.entries(renderCrds())) {
    const spec = manifest['spec'] as {
      names: { plural: string };
      group: string;
      versions: {
        schema: { openAPIV3Schema: Node };
        subresources: { scale?: { specReplicasPath: string } };
        additionalPrinterColumns: { jsonPath: string }[];
      }[];
    };
    const schemas = schemasIn(spec.versions[0]!.schema.openAPIV3Schema, '');

    it(`${file} prints and scales only what its spec or status holds`, () => {
      const [version] = spec.versions;
      const fields = schemas.map(([way]) => way);
      const paths = version!.additionalPrinterColumns.map(({ jsonPath }) => jsonPath);
      const { scale } = version!.subresources;
      expect(scale !== undefined).to.equal(spec.names.plural === 'deployments');
      for (const path of [...paths, ...(scale ? [scale.specReplicasPath] : [])]) {
        if (path.startsWith('.spec')) expect(fields, path).to.include(path);
        else expect(path).to.match(/^\.(?:status\.[A-Za-z]+|metadata\.creationTimestamp)$/);
      }
    });

    it(`${file} is structural`, () => {
      for (const [way, schema] of schemas) {
        if (schema['x-kubernetes-int-or-string'] === true) continue; // has no type, by the rules of Kubernetes
        expect(schema['type'], way).to.be.oneOf(['object', 'array', 'string', 'integer', 'boolean']);
        expect(
          Object.keys(schema).filter(word => !KNOWN.has(word)),
          way,
        ).to.deep.equal([]);
        expect(Boolean(schema['properties'] && schema['additionalProperties']), way).to.equal(false);
        if (schema['type'] === 'array') expect(schema['items'], way).to.be.an('object');
        const names = Object.keys((schema['properties'] ?? {}) as Node);
        for (const name of (schema['required'] ?? []) as string[]) expect(names, way).to.include(name);
        expect((schema['pattern'] ?? '') as string, way).not.to.match(/\\u|\(\?[=!<]/);
      }
    });

    it(`${file} is named as Kubernetes wants it, and has no place for a secret's value`, () => {
      expect((manifest['metadata'] as Node)['name']).to.equal(`${spec.names.plural}.${spec.group}`);
      const ways = schemas.map(([way]) => way);
      expect(
        ways.filter(way => /\.(?:values|generate|mount_path|volume_id)$/.test(way) && way.includes('secrets')),
      ).to.deep.equal([]);
      expect(ways.some(way => way.startsWith('.spec.'))).to.equal(true);
    });
  }

  it('are made of the very schemas that documents are checked with', () => {
    expect(Object.keys(listBodies())).to.include.members(['Deployment', 'Job', 'Network', 'Volume']);
  });

  it('are schemas, which is not looked at again when they are compiled', () => {
    const ajv = new Ajv2020();
    for (const [name, schema] of Object.entries(listBodies())) {
      expect(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`).to.equal(true);
    }
  });
});
