import { expect } from 'chai';

import { BrokenInvariantFault } from '../../pkg/fault/index.js';
import { checkRoutes, type Route } from './route.js';
import { RouteTree } from './route-tree.js';

const sound: Route = {
  method: 'GET',
  path: '/x/{name}',
  access: { tenant: 'viewer' },
  tenant: 'own',
  query: [],
  body: 'none',
  handle: () => ({ status: 200, body: Buffer.alloc(0), type: 'text/plain' }),
};

describe('the check of the route table', () => {
  const cases: readonly { name: string; given: Record<string, unknown> }[] = [
    { name: 'no access', given: { access: undefined } },
    { name: 'nobody to call it', given: { access: {} } },
    { name: 'no tenant rule', given: { tenant: undefined } },
    { name: 'open access to a tenant', given: { access: 'open' } },
    { name: 'tenant tokens and no tenant', given: { tenant: 'none' } },
    { name: 'node tokens beside others', given: { access: { tenant: 'viewer', node: true } } },
    { name: 'a body in a GET', given: { body: 'json' } },
  ];
  for (const { name, given } of cases) {
    it(`stops start-up for a route with ${name}`, () => {
      expect(() => checkRoutes([{ ...sound, ...given } as Route])).to.throw(BrokenInvariantFault);
    });
  }

  it('stops start-up for a route that is declared twice with another parameter name', () => {
    expect(() => checkRoutes([sound, { ...sound, path: '/x/{id}' }])).to.throw(BrokenInvariantFault);
  });

  it('accepts a valid table', () => {
    checkRoutes([sound]);
  });
});

describe('the route tree', () => {
  const deep = { ...sound, path: '/y/{first}/{second}/end' };
  const named = { ...sound, path: '/y/fixed/{second}/other' };
  const tree = new RouteTree([sound, { ...sound, path: '/x/fixed' }, { ...sound, method: 'PUT' }, deep, named]);
  const cases: readonly [string, string, string, string?][] = [
    ['GET', '/x/web', 'route', '/x/{name}'],
    ['HEAD', '/x/web', 'route', '/x/{name}'],
    ['GET', '/x/fixed', 'route', '/x/fixed'],
    ['PUT', '/x/fixed', 'method'],
    ['POST', '/x/web', 'method'],
    ['GET', '/x', 'nothing'],
    ['GET', '/x/', 'nothing'],
    ['GET', '/x/a/b', 'nothing'],
    ['GET', '/x/a%2fb', 'nothing'],
    ['GET', '/x/%zz', 'nothing'],
    ['GET', '/x/%00', 'nothing'],
    ['GET', '//x/web', 'nothing'],
    ['GET', '/__proto__', 'nothing'],
  ];
  for (const [method, path, kind, route] of cases) {
    it(`finds ${kind} for ${method} ${path}`, () => {
      const found = tree.find(method, path);

      expect(found.kind).to.equal(kind);
      if (found.kind === 'route') expect(found.route.path).to.equal(route);
    });
  }

  it('takes a name for a parameter where the name leads nowhere, and forgets what it passed on the way', () => {
    const found = tree.find('GET', '/y/fixed/b/end');

    expect(found.kind === 'route' && found.params).to.deep.equal({ first: 'fixed', second: 'b' });
  });

  it('unescapes parameters and names the methods that exist', () => {
    const found = tree.find('GET', '/x/a%20b');
    const other = tree.find('PATCH', '/x/web');

    expect(found.kind === 'route' && found.params).to.deep.equal({ name: 'a b' });
    expect(other.kind === 'method' && other.allowed).to.deep.equal(['GET', 'HEAD', 'PUT']);
  });
});
