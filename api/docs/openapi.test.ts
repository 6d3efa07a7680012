import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';

import { gadgetKind } from '../../crds/kind/gadget.testing.js';
import type { Kind } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import { isRejectionCode } from '../../crds/rejections/index.js';
import { ApiLab } from '../api-lab.testing.js';
import { describeRoute } from './openapi.js';
import { descriptions } from './descriptions.js';

describe('the OpenAPI document', () => {
  let lab: ApiLab;
  before(async () => {
    lab = await new ApiLab().start();
  });
  after(() => lab.stop());
  /** The Kubernetes face describes itself. */
  const own = () => lab.api.routes.filter(({ face }) => face === undefined);

  it('is a valid document of OpenAPI 3.1', async () => {
    const { status, body } = await lab.ask('GET', '/openapi.json');
    expect(status).to.equal(200);
    expect(body['openapi']).to.equal('3.1.0');
    const { valid, errors } = await new Validator().validate(structuredClone(body));
    expect(valid, JSON.stringify(errors)).to.equal(true);
  });

  it('names every route and no other, each with what it refuses', async () => {
    const { body } = await lab.ask('GET', '/openapi.json');
    const paths = body['paths'] as Record<string, Record<string, { responses: Record<string, unknown> }>>;
    const named = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
    );
    expect(named.toSorted()).to.deep.equal(
      own()
        .map(({ method, path }) => `${method} ${path}`)
        .toSorted(),
    );
    expect(named).to.include.members(Object.keys(descriptions));
    const actions = (kinds as readonly Kind[]).flatMap(({ path, routes = {} }) =>
      Object.keys(routes).flatMap(key => (key.includes(' ') ? [key.replace(' ', ` ${path}`)] : [])),
    );
    expect(named).to.include.members(actions);
    for (const methods of Object.values(paths)) {
      for (const { responses } of Object.values(methods)) expect(Object.keys(responses)).to.include('400');
    }
  });

  it('describes the routes of kinds by their descriptors alone', () => {
    const paths = kinds.flatMap(({ path }: Kind) => path ?? []);
    for (const route of Object.keys(descriptions)) {
      expect(
        paths.some(path => route.includes(` ${path}`)),
        route,
      ).to.equal(false);
    }
  });

  it('describes writes and other actions of a kind that only has a descriptor', () => {
    const row = lab.api.routes.find(({ method, path }) => method === 'POST' && path === '/api/v1/networks')!;
    const known = [...kinds, gadgetKind];
    const create = describeRoute({ ...row, path: '/api/v1/gadgets' }, known);
    expect(create).to.include({ summary: 'Creates a gadget', body: 'Gadget' });
    expect(create.codes).to.include.members(['quota_reached', 'request_malformed']);
    expect(describeRoute({ ...row, path: '/api/v1/gadgets/{name}/polish' }, known).summary).to.equal(
      'Polishes a gadget',
    );
    expect(() => describeRoute({ ...row, path: '/api/v1/gadgets/{name}/paint' }, known)).to.throw(
      'is described neither',
    );
  });

  it('has no reference that leads nowhere', async () => {
    const { text, body } = await lab.ask('GET', '/openapi.json');
    const { schemas } = body['components'] as { schemas: Record<string, unknown> };
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) expect(schemas).to.have.property(name!);
  });

  it('describes a body for every route that takes one', () => {
    for (const route of own()) {
      const { body } = describeRoute(route);
      const takesOne = route.body === 'json';
      expect(body !== undefined, `${route.method} ${route.path}`).to.equal(takesOne);
    }
  });

  it('names what a secret write meets beside its own faults: a full quota, and what cannot be opened', () => {
    const write = lab.api.routes.find(({ method, path }) => method === 'PUT' && path.startsWith('/api/v1/secrets/'))!;
    expect(describeRoute(write).codes).to.include.members(['quota_reached', 'secret_unreadable']);
  });

  it('is rendered for people, without a script, every endpoint and every code linked', async () => {
    const { text, headers } = await lab.ask('GET', '/docs/api');
    expect(headers.get('content-type')).to.contain('text/html');
    expect(text).not.to.match(/<script|undefined|\[object/);
    for (const { path } of own()) expect(text).to.contain(path);
    const linked = [...text.matchAll(/href="\/docs\/codes\/([a-z_]+)"/g)].map(([, code]) => code!);
    expect(linked.filter(code => !isRejectionCode(code))).to.deep.equal([]);
  });
});
