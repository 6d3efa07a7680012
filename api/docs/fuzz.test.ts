import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';

import { sampleRuns } from '../../dev/testing/index.js';
import { ApiLab, type LabResponse, webDeployment } from '../api-lab.testing.js';

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>;
type Schema = Readonly<Record<string, unknown>>;

const RUNS = 60;
/** Streams, and what agents do: those have tests of their own. */
const LEFT_OUT = /\/logs|^\/agent\/|^\/metrics/;

/** Words that mean something in fields of these names: without them hardly a document would get past its shape. */
const MEANT: Readonly<Record<string, readonly unknown[]>> = {
  name: ['web', 'db', 'cache', 'x1', 'DB'],
  image: ['registry.example.com/web:1', 'web:2'],
  vault_path: ['deployments/web-db', 'resources/mail'],
  anchor: ['process', 'external'],
  mountPath: ['/data'],
  timeout: ['10s', '30s'],
  interval: ['5s'],
  cpu: ['500m'],
  memory: ['256Mi'],
  country: ['DE'],
  region: ['eu'],
  progressDeadline: ['10m'],
  phase: ['stage'],
};

const text = fc.oneof(fc.constantFrom('web', 'a', 'value'), fc.string({ unit: 'grapheme' }));
const noise: fc.Arbitrary<unknown> = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null), fc.constant([]));
const NOISE = { weight: 1, arbitrary: noise };

/** Values of the form that a schema asks for, nearly all of the time. */
function arbitrate(schema: Schema, components: Readonly<Record<string, Schema>>, called = ''): fc.Arbitrary<unknown> {
  const within = (inner: unknown, name = '') => arbitrate(inner as Schema, components, name);
  const { $ref, anyOf, enum: options, const: only, type, properties, required, items, additionalProperties } = schema;
  if (typeof $ref === 'string') return within(components[$ref.slice($ref.lastIndexOf('/') + 1)]);
  if (Array.isArray(anyOf)) return fc.oneof(...anyOf.map(option => within(option, called)));
  if (only !== undefined) return fc.oneof({ weight: 60, arbitrary: fc.constant(only) }, NOISE);
  if (Array.isArray(options))
    return fc.oneof({ weight: 60, arbitrary: fc.constantFrom(...(options as unknown[])) }, NOISE);
  const sound: Readonly<Record<string, () => fc.Arbitrary<unknown>>> = {
    string: () => (MEANT[called] ? fc.constantFrom(...MEANT[called]) : text),
    integer: () => fc.integer({ min: 0, max: 120 }),
    boolean: () => fc.boolean(),
    array: () => fc.array(within(items ?? {}), { maxLength: 2 }),
    object: () => (properties ? fields(properties as object, required as string[] | undefined) : map()),
  };
  const map = () => fc.dictionary(text, within(typeof additionalProperties === 'object' ? additionalProperties : {}));
  /** Few of the fields that may be left out: every one of them can be wrong. */
  const fields = (all: object, needed: readonly string[] = []) => {
    const made = Object.entries(all).map(([name, part]) => [name, within(part, name)] as const);
    const always = Object.fromEntries(made.filter(([name]) => needed.includes(name)));
    const optional = made.filter(([name]) => !needed.includes(name));
    return fc
      .subarray(optional, { maxLength: Math.min(4, optional.length) })
      .chain(chosen => fc.record({ ...always, ...Object.fromEntries(chosen) }));
  };
  return fc.oneof({ weight: 60, arbitrary: sound[String(type)]?.() ?? noise }, NOISE);
}

const segment = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('web', 'db', 'deployments', 'resources') },
  { weight: 1, arbitrary: fc.constantFrom(`dep_${'1'.repeat(26)}`, '..', '%00', 'x'.repeat(300)) },
  { weight: 1, arbitrary: fc.string({ minLength: 1 }) },
);

describe('requests made from the OpenAPI document', () => {
  const lab = new ApiLab();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const validators = new Map<string, ValidateFunction>();
  const operations: Operation[] = [];
  let components: Readonly<Record<string, Schema>> = {};
  let tenant = '';
  let admin = '';

  before(async () => {
    await lab.start();
    tenant = await lab.tenantToken(lab.a);
    admin = (await lab.token({ kind: 'admin' })).text;
    const { body } = await lab.ask('GET', '/openapi.json');
    components = (body['components'] as { schemas: Record<string, Schema> }).schemas;
    for (const name of ['web', 'db'])
      await lab.ask('POST', '/api/v1/deployments', { token: tenant, body: webDeployment(name) });
    ajv.addSchema({ $id: 'doc', components: { schemas: components } });
    for (const [path, methods] of Object.entries(body['paths'] as Record<string, Record<string, Operation>>)) {
      if (LEFT_OUT.test(path)) continue;
      for (const [method, operation] of Object.entries(methods)) {
        operations.push({ ...operation, method: method.toUpperCase(), path });
      }
    }
  });
  after(() => lab.stop());

  /** Whether an answer is one that the document promises for this operation. */
  const conforms = ({ method, path, responses }: Operation, { status, body, text }: LabResponse) => {
    const shown = `${method} ${path} ${status} ${text.slice(0, 600)}`;
    const promised = responses[status];
    expect(promised, shown).not.to.equal(undefined);
    expect(status === 501 || status < 500, shown).to.equal(true);
    if (status >= 400) expect(promised!.description.split(', '), shown).to.include(body['code'] as string);
    const schema = promised!.content?.['application/json']?.schema;
    if (!schema) return;
    const located = JSON.stringify(schema).replaceAll('"#/', '"doc#/');
    const validate = validators.get(located) ?? ajv.compile(JSON.parse(located) as object);
    validators.set(located, validate);
    expect(validate(body), `${shown} ${JSON.stringify(validate.errors)}`).to.equal(true);
  };

  const requestTo = ({ path, parameters = [], requestBody }: Operation) => {
    const named = parameters.filter(parameter => parameter.in === 'query' && parameter.name !== 'watch');
    const given = fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom('true', 'false', '10') },
      { weight: 1, arbitrary: fc.string() },
    );
    const query = fc
      .subarray(named, { maxLength: Math.min(1, named.length) })
      .chain(chosen => fc.record(Object.fromEntries(chosen.map(({ name }) => [name, given]))));
    const parts = fc.array(segment, { minLength: 3, maxLength: 3 });
    const body = requestBody
      ? arbitrate(requestBody.content['application/json'].schema, components)
      : fc.constant(undefined);
    return fc.record({ query, parts, body, asAdmin: fc.boolean() }).map(made => {
      let at = 0;
      const filled = path.replaceAll(/\{[^}]*\}/g, () => encodeURIComponent(made.parts[at++] ?? 'x'));
      const search = new URLSearchParams(made.query as Record<string, string>).toString();
      return { ...made, url: search === '' ? filled : `${filled}?${search}` };
    });
  };

  it('are never answered with a failure, and always as the document says', async function () {
    this.timeout(120_000);
    for (const operation of operations) {
      await fc.assert(
        fc.asyncProperty(requestTo(operation), async ({ url, body, asAdmin }) => {
          const headers = { 'x-tenant-id': lab.a };
          const token = asAdmin ? admin : tenant;
          const sent = body === undefined ? {} : { body };
          const answer = await lab.ask(operation.method, url, { token, headers, ...sent });
          // A parameter that is no segment leads to no route, or to another one.
          if (answer.body['code'] === 'endpoint_not_found' || answer.body['code'] === 'method_not_allowed') return;
          conforms(operation, answer);
        }),
        { numRuns: sampleRuns(3, RUNS), seed: 7 },
      );
    }
  });

  it('[4.15] are refused when a query parameter is unknown', async () => {
    for (const operation of operations) {
      const url = `${operation.path.replaceAll(/\{[^}]*\}/g, 'web')}?nonsense=1`;
      const body = operation.requestBody ? { body: {} } : {};
      const answer = await lab.ask(operation.method, url, { token: admin, headers: { 'x-tenant-id': lab.a }, ...body });
      const codes = ['query_parameter_unknown', 'auth_forbidden'];
      expect(codes, `${operation.method} ${url} ${answer.text}`).to.include(answer.body['code'] as string);
    }
  });
});
