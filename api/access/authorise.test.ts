import { expect } from 'chai';

import { keys } from '../../crds/keys/index.js';
import type { Role, TokenKind } from '../../crds/tenant/index.js';
import { Keyring, mintToken } from '../../pkg/auth/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { create } from '../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { listTokenKinds, type Route } from '../http/route.js';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('access to routes', () => {
  let lab: ApiLab;
  let now = Date.now();
  before(async () => {
    lab = await new ApiLab({ clock: { ...systemClock, now: () => now } }).start();
  });
  after(() => lab.stop());

  const list = (token?: string, headers = {}) =>
    lab.ask('GET', '/api/v1/deployments', { ...(token !== undefined && { token }), headers });

  it('answers 401 without a token, and says how to send one', async () => {
    const { status, body, headers } = await list();

    expect([status, body['code']]).to.deep.equal([401, 'auth_required']);
    expect(headers.get('www-authenticate')).to.equal('Bearer');
  });

  it('answers every invalid token with the same bytes, and never quotes it', async () => {
    const { text } = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'viewer' });
    const expired = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'viewer', lifeSeconds: -1 });
    const draft = { kind: 'admin', description: '', createdBy: '', lifeSeconds: 60 } as const;
    const { keyring, clock } = lab;
    const unknown = mintToken(draft, { keyring, clock, random: systemRandom });
    const foreign = new Keyring([systemRandom.bytes(32)]);
    const forged = mintToken(draft, { keyring: foreign, clock, random: systemRandom });
    await create(lab.store, keys.token(forged.stored.id), forged.stored);
    const answers = [];
    for (const token of [expired.text, unknown.text, forged.text]) answers.push(await list(token));

    expect(new Set(answers.map(answer => answer.text)).size).to.equal(1);
    expect(answers[0]?.status).to.equal(401);
    expect(answers[0]?.headers.get('www-authenticate')).to.include('invalid_token');
    for (const answer of answers) expect(answer.text).to.not.include(text.slice(21, 40));
  });

  it('does not take a token from the query', async () => {
    const token = await lab.tenantToken(lab.a);

    expect((await lab.ask('GET', `/api/v1/deployments?token=${token}`)).status).to.equal(401);
  });

  it('refuses a token from the moment it expires', async () => {
    const { text } = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'viewer', lifeSeconds: 60 });
    expect((await list(text)).status).to.equal(200);
    now += 60_000;

    expect((await list(text)).status).to.equal(401);
  });

  it('refuses a revoked token at once, and ends the watch it was used for', async () => {
    const admin = await lab.tenantToken(lab.a);
    const made = await lab.ask('POST', '/api/v1/tokens', { token: admin, body: { role: 'viewer', description: 'ci' } });
    const { token, id } = made.body as { token: string; id: string };
    const watch = await fetch(`${lab.server.url}/api/v1/deployments?watch=true`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const revoked = await lab.ask('DELETE', `/api/v1/tokens/${id}`, { token: admin });
    await watch.text(); // ends, or the test times out

    expect(made.status).to.equal(201);
    expect(revoked.status).to.equal(200);
    expect((await list(token)).status).to.equal(401);
  });

  it('never shows a digest', async () => {
    const admin = await lab.tenantToken(lab.a);
    const { text, body } = await lab.ask('GET', '/api/v1/tokens?limit=500', { token: admin });

    expect((body['items'] as unknown[]).length).to.be.above(1);
    expect(text).to.not.match(/digest|[0-9a-f]{64}/);
  });

  const headerCases: readonly {
    name: string;
    kind: 'tenant' | 'admin';
    header?: (lab: ApiLab) => string;
    status: number;
    code?: string;
  }[] = [
    { name: 'no header', kind: 'tenant', status: 200 },
    { name: 'its own tenant', kind: 'tenant', header: ({ a }) => a, status: 200 },
    { name: 'another tenant', kind: 'tenant', header: ({ b }) => b, status: 403, code: 'tenant_mismatch' },
    { name: 'a tenant that is none', kind: 'tenant', header: () => UNKNOWN, status: 403, code: 'tenant_mismatch' },
    {
      name: 'two tenants',
      kind: 'tenant',
      header: ({ a, b }) => `${a}, ${b}`,
      status: 400,
      code: 'tenant_header_invalid',
    },
    { name: 'its own in capitals', kind: 'tenant', header: ({ a }) => a.toUpperCase(), status: 200 },
    {
      name: 'another in capitals',
      kind: 'tenant',
      header: ({ b }) => b.toUpperCase(),
      status: 403,
      code: 'tenant_mismatch',
    },
    { name: 'nonsense', kind: 'tenant', header: () => '../x', status: 400, code: 'tenant_header_invalid' },
    { name: 'nothing in it', kind: 'tenant', header: () => '', status: 400, code: 'tenant_header_invalid' },
    { name: 'no header', kind: 'admin', status: 400, code: 'tenant_header_required' },
    { name: 'a tenant', kind: 'admin', header: ({ b }) => b, status: 200 },
    { name: 'a tenant that is none', kind: 'admin', header: () => UNKNOWN, status: 404, code: 'resource_not_found' },
    { name: 'nonsense', kind: 'admin', header: () => 'x', status: 400, code: 'tenant_header_invalid' },
  ];
  for (const { name, kind, header, status, code } of headerCases) {
    it(`[5.1] answers ${status} to a ${kind} token with ${name} in X-Tenant-ID`, async () => {
      const draft = kind === 'tenant' ? ({ kind, tenant: lab.a, role: 'viewer' } as const) : { kind };
      const { text } = await lab.token(draft);
      const answer = await list(text, header ? { 'x-tenant-id': header(lab) } : {});

      expect([answer.status, answer.body['code']]).to.deep.equal([status, code]);
    });
  }

  it('[5.1] lets an administrator act for the tenant it names, and for no other', async () => {
    const { text } = await lab.token({ kind: 'admin' });
    const headers = { 'x-tenant-id': lab.b };
    await lab.ask('POST', '/api/v1/deployments', { token: text, headers, body: webDeployment('for-b') });

    const of = async (tenant: string) =>
      lab.ask('GET', '/api/v1/deployments/for-b', { token: await lab.tenantToken(tenant) });
    expect((await of(lab.b)).status).to.equal(200);
    expect((await of(lab.a)).status).to.equal(404);
  });

  it('gives each route to exactly the kinds and roles of its row', async () => {
    const callers: readonly { kind: TokenKind; role?: Role }[] = [
      { kind: 'tenant', role: 'viewer' },
      { kind: 'tenant', role: 'deployer' },
      { kind: 'tenant', role: 'admin' },
      { kind: 'admin' },
      { kind: 'node' },
      { kind: 'join' },
    ];
    const rank: Readonly<Record<Role, number>> = { viewer: 1, deployer: 2, admin: 3 };
    const mayCall = ({ access }: Route, kind: TokenKind, role: Role | undefined) => {
      const needed = access === 'open' ? true : access[kind];
      return needed === true || (needed !== undefined && role !== undefined && rank[role] >= rank[needed]);
    };
    /** Below /k8s a refusal is the cause of a Status. */
    const readCode = ({ code, details }: Readonly<Record<string, unknown>>) =>
      (details as { readonly causes?: readonly { readonly reason: string }[] } | undefined)?.causes?.[0]?.reason ??
      code;
    let cells = 0;
    for (const { kind, role } of callers) {
      const belongs = kind === 'admin' ? {} : { tenant: lab.a };
      const { text } = await lab.token({ kind, ...belongs, ...(role && { role }), node: 'node_x', nodeName: 'x' });
      for (const route of lab.api.routes) {
        if (route.access === 'open' || route.path === '/agent/v1/assignments') continue;
        const path = route.path.replace(/\{[^}]*\}/g, 'zz');
        const isNamed = route.tenant === 'named' || (kind === 'admin' && route.tenant === 'own');
        const headers = isNamed ? { 'x-tenant-id': lab.a } : {};
        const { status, body } = await lab.ask(route.method, path, { token: text, headers });
        const isForbidden = status === 403 && readCode(body) === 'auth_forbidden';

        expect(isForbidden, `${kind} ${role ?? ''} ${route.method} ${route.path}: ${status}`).to.equal(
          !mayCall(route, kind, role),
        );
        expect(status === 501 ? 404 : status, `${route.method} ${route.path}`).to.be.below(500); // 501: never built
        cells++;
      }
    }
    expect(cells).to.be.above(60);
  });

  it('refuses a node token on every route outside /agent/', () => {
    for (const { path, access } of lab.api.routes) {
      expect(listTokenKinds(access).includes('node'), path).to.equal(path.startsWith('/agent/') && access !== 'open');
    }
  });

  it('limits failed authentications without locking out valid tokens', async () => {
    const good = await lab.tenantToken(lab.a);
    const answers = await Promise.all(Array.from({ length: 60 }, () => list('nonsense')));

    expect(answers.map(({ status }) => status)).to.include.members([401, 429]);
    expect((await list(good)).status).to.equal(200);
  });
});

describe('rate limits', () => {
  let lab: ApiLab;
  let monotonic = 0;
  before(async () => {
    const settings = { rateLimitPerSecond: 2, rateLimitBurst: 5 };
    lab = await new ApiLab({ settings, clock: { ...systemClock, monotonic: () => monotonic } }).start();
  });
  after(() => lab.stop());

  it('apply to one tenant only, name the time to retry after, and refill', async () => {
    const [a, b] = [await lab.tenantToken(lab.a), await lab.tenantToken(lab.b)];
    const ask = (token: string) => lab.ask('GET', '/api/v1/deployments', { token });
    for (let request = 0; request < 5; request++) expect((await ask(a)).status).to.equal(200);
    const refused = await ask(a);

    expect([refused.status, refused.body['code']]).to.deep.equal([429, 'rate_limited']);
    expect(refused.body['field']).to.equal('Authorization');
    expect(Number(refused.headers.get('retry-after'))).to.be.at.least(1);
    expect((await ask(b)).status).to.equal(200);
    expect((await lab.ask('GET', '/healthz')).status).to.equal(200);
    monotonic += 500;
    expect((await ask(a)).status).to.equal(200);
    expect((await ask(a)).status).to.equal(429);
  });
});
