import { connect } from 'node:net';

import { expect } from 'chai';

import { catalogue } from '../crds/rejections/index.js';
import { InvalidSettingFault } from '../pkg/config/index.js';
import { ApiLab, webDeployment } from './api-lab.testing.js';
import { isGrowth, type Route } from './http/route.js';
import { startServer } from './server.js';

describe('requests', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
  });
  after(() => lab.stop());

  /** Sends bytes that no HTTP client would, and reads until the server closes. */
  const raw = (text: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(lab.server.port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.setEncoding('utf8').on('data', chunk => {
        answer += chunk;
      });
      socket.on('close', () => resolve(answer)).on('error', reject);
      socket.setTimeout(30_000, () => socket.destroy());
    });

  const bodies: readonly { name: string; raw: string | Buffer; status: number; code: string; field?: string }[] = [
    { name: 'nothing', raw: '', status: 400, code: 'request_malformed', field: 'body' },
    { name: 'a bracket', raw: '{', status: 400, code: 'request_malformed', field: 'body' },
    { name: 'half an object', raw: '{"kind":', status: 400, code: 'request_malformed' },
    { name: 'a key twice', raw: '{"name":"a","name":"b"}', status: 400, code: 'request_malformed', field: 'name' },
    {
      name: 'a prototype',
      raw: '{"labels":{"__proto__":{}}}',
      status: 400,
      code: 'request_malformed',
      field: 'labels.__proto__',
    },
    { name: 'half a surrogate pair', raw: '{"name":"\\ud800"}', status: 400, code: 'request_malformed', field: 'name' },
    { name: 'a NUL', raw: '{"name":"\\u0000"}', status: 400, code: 'request_malformed', field: 'name' },
    {
      name: 'an inexact number',
      raw: '{"replicas":9007199254740993}',
      status: 400,
      code: 'request_malformed',
      field: 'replicas',
    },
    {
      name: 'an infinite number',
      raw: '{"replicas":1e400}',
      status: 400,
      code: 'request_malformed',
      field: 'replicas',
    },
    { name: 'bytes that are not UTF-8', raw: Buffer.from([0x22, 0xff, 0x22]), status: 400, code: 'request_malformed' },
    { name: 'a depth of a million', raw: '['.repeat(1_000_000), status: 400, code: 'request_malformed' },
    {
      name: 'more than a mebibyte',
      raw: `"${'x'.repeat(1 << 20)}"`,
      status: 413,
      code: 'request_too_large',
      field: 'body',
    },
    { name: 'a list', raw: '[]', status: 422, code: 'field_invalid', field: 'body' },
    { name: 'a string', raw: '"x"', status: 422, code: 'field_invalid', field: 'body' },
    { name: 'null', raw: 'null', status: 422, code: 'field_invalid', field: 'body' },
  ];
  for (const { name, raw: sent, status, code, field } of bodies) {
    it(`with ${name} for a body are refused with ${code}, and store nothing`, async () => {
      const before = await lab.store.revision();
      const answer = await lab.ask('POST', '/api/v1/deployments', { token, raw: sent });

      expect([answer.status, answer.body['code']]).to.deep.equal([status, code]);
      if (field !== undefined) expect(answer.body['field']).to.equal(field);
      expect(await lab.store.revision()).to.equal(before);
    });
  }

  it('are answered 500 when their handler answers what cannot be sent', async () => {
    const route = lab.api.routes.find(({ method, path }) => method === 'GET' && path === '/api/v1/deployments')!;
    const { handle } = route;
    Object.assign(route, { handle: async () => ({ rejections: [] }) });
    try {
      const { status, body } = await lab.ask('GET', '/api/v1/deployments', { token });
      expect([status, body['code']]).to.deep.equal([500, 'internal_failure']);
    } finally {
      Object.assign(route, { handle });
    }
  });

  it('are answered below 500, however hostile their body', async () => {
    const names = ['constructor', '💣', 'a\u202eb', '%s%s%n', "'; DROP TABLE", '{{7*7}}', '../../etc', ' web', 'web\n'];
    for (const name of names) {
      const body = { ...webDeployment(), name, environment: { [name]: name }, labels: { [name]: name }, [name]: name };
      const { status } = await lab.ask('POST', '/api/v1/deployments', { token, body });

      expect(status, name).to.be.within(400, 499);
    }
  });

  it('with a body of unknown length are cut at the limit', async () => {
    const chunk = Buffer.alloc(64 * 1024, 0x20);
    const stream = new ReadableStream({
      pull(controller) {
        controller.enqueue(chunk);
      },
    });
    const options = { method: 'POST', body: stream, duplex: 'half' };
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${lab.server.url}/api/v1/deployments`, { ...options, headers } as RequestInit).then(
      response => response.status,
      () => 'closed',
    );

    expect(answer).to.be.oneOf([413, 'closed']);
  });

  for (const headers of [{ 'content-type': 'text/plain' }, { 'content-type': '' }, { 'content-encoding': 'gzip' }]) {
    it(`[4.1] with ${JSON.stringify(headers)} are refused`, async () => {
      const { status, body } = await lab.ask('POST', '/api/v1/deployments', { token, body: {}, headers });

      expect([status, body['code']]).to.deep.equal([415, 'media_type_unsupported']);
    });
  }

  const order: readonly { name: string; ask: () => ReturnType<ApiLab['ask']>; code: string }[] = [
    {
      name: 'size before the token',
      ask: () => lab.ask('POST', '/api/v1/deployments', { raw: 'x'.repeat(2 << 20) }),
      code: 'request_too_large',
    },
    {
      name: 'the token before the tenant',
      ask: () => lab.ask('GET', '/api/v1/deployments', { headers: { 'x-tenant-id': 'x' } }),
      code: 'auth_required',
    },
    {
      name: 'the tenant before the role',
      ask: () => lab.ask('GET', '/api/v1/deployments', { token: join, headers: { 'x-tenant-id': 'x' } }),
      code: 'tenant_header_invalid',
    },
    {
      name: 'the role before the query',
      ask: () => lab.ask('GET', '/api/v1/deployments?x=1', { token: join }),
      code: 'auth_forbidden',
    },
    {
      name: 'the query before the body',
      ask: () => lab.ask('POST', '/api/v1/deployments?x=1', { token, raw: '{' }),
      code: 'query_parameter_unknown',
    },
    {
      name: 'the body before the look-up',
      ask: () => lab.ask('PUT', '/api/v1/deployments/absent', { token, raw: '{' }),
      code: 'request_malformed',
    },
  ];
  let join: string;
  before(async () => {
    join = (await lab.token({ kind: 'join', tenant: lab.a })).text;
  });
  for (const { name, ask, code } of order) {
    it(`are judged by ${name}`, async () => {
      expect((await ask()).body['code']).to.equal(code);
    });
  }

  it('to unknown paths or with unknown methods are refused with a code of their own', async () => {
    const nowhere = await lab.ask('GET', '/api/v1/nothing', { token });
    const patch = await lab.ask('PATCH', '/api/v1/deployments', { token });

    expect([nowhere.status, nowhere.body['code']]).to.deep.equal([404, 'endpoint_not_found']);
    expect([patch.status, patch.body['code']]).to.deep.equal([405, 'method_not_allowed']);
    expect(patch.headers.get('allow')).to.equal('GET, HEAD, POST');
  });

  const queries: readonly [string, string, string][] = [
    ['/api/v1/deployments?limt=1', 'query_parameter_unknown', 'limt'], // [4.15 7.5.21]
    ['/api/v1/deployments?limit=0', 'query_parameter_invalid', 'limit'],
    ['/api/v1/deployments?limit=501', 'query_parameter_invalid', 'limit'],
    ['/api/v1/deployments?limit=1&limit=2', 'query_parameter_invalid', 'limit'],
    ['/api/v1/deployments?continue=zz', 'query_parameter_invalid', 'continue'],
    ['/api/v1/deployments?watch=yes', 'query_parameter_invalid', 'watch'],
    ['/api/v1/deployments?watch=true&after=x', 'query_parameter_invalid', 'after'],
    ['/api/v1/deployments/web?x', 'query_parameter_unknown', 'x'],
  ];
  for (const [path, code, field] of queries) {
    it(`to ${path} are refused with ${code}`, async () => {
      const { body, status } = await lab.ask('GET', path, { token });

      expect([status, body['code'], body['field']]).to.deep.equal([400, code, field]);
    });
  }

  it('with HEAD are answered with the head of GET', async () => {
    const get = await lab.ask('GET', '/api/v1/deployments', { token });
    const head = await lab.ask('HEAD', '/api/v1/deployments', { token });

    expect([head.status, head.text]).to.deep.equal([200, '']);
    expect(head.headers.get('content-length')).to.equal(get.headers.get('content-length'));
  });

  it('get an id of their own, and headers that keep answers private', async () => {
    const one = await lab.ask('GET', '/healthz');
    const two = await lab.ask('GET', '/nowhere');

    expect(one.headers.get('x-request-id')).to.match(/^req_/);
    expect(two.headers.get('x-request-id')).to.not.equal(one.headers.get('x-request-id'));
    for (const { headers } of [one, two]) {
      expect(headers.get('cache-control')).to.equal('no-store');
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('content-security-policy')).to.include("default-src 'none'");
      expect(headers.get('access-control-allow-origin')).to.equal(null);
    }
  });

  for (const [host, status] of [
    ['localhost', 200],
    ['127.0.0.1:7070', 200],
    ['[::1]:1', 200],
    ['evil.example', 421],
    ['127.0.0.1.evil.example', 421],
  ] as const) {
    it(`for the host ${host} are answered ${status}`, async () => {
      const answer = await raw(`GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);

      expect(answer.split(' ')[1]).to.equal(String(status));
      expect(answer.includes('host_unknown')).to.equal(status === 421);
    });
  }

  it('with two tenant headers are refused', async () => {
    const head = `GET /api/v1/deployments HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`;
    const answer = await raw(`${head}X-Tenant-ID: ${lab.a}\r\nX-Tenant-ID: ${lab.a}\r\nConnection: close\r\n\r\n`);

    expect(answer).to.include(' 400 ').and.to.include('tenant_header_invalid');
  });

  it('end only their own connection when they are not HTTP', async () => {
    for (const text of [
      '\0\0\0\r\n\r\n',
      'GET\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
    ]) {
      expect(await raw(text)).to.match(/^(HTTP\/1\.1 4\d\d|$)/);
    }
    expect((await lab.ask('GET', '/livez')).status).to.equal(200);
  });

  it('[2.1.6] for the page of any code are answered, for people and for programs', async () => {
    const page = (code: string, accept: string) => lab.ask('GET', `/docs/codes/${code}`, { headers: { accept } });
    for (const code of Object.keys(catalogue)) {
      const [html, data] = [await page(code, 'text/html'), await page(code, 'application/json')];

      expect([html.status, data.status], code).to.deep.equal([200, 200]);
      expect(html.text).to.include(code);
      expect(data.body['code']).to.equal(code);
    }
    expect((await lab.ask('GET', '/docs/codes', { headers: { accept: 'text/html' } })).text).to.include('</html>');
    expect((await page('no_such_code', '*/*')).body['code']).to.equal('resource_not_found');
  });

  it('[4.27] for health and metrics need no token, and their answers name no tenant', async () => {
    const health = await lab.ask('GET', '/healthz');
    const metrics = await lab.ask('GET', '/metrics');

    expect(health.body).to.deep.include({ status: 'ok', store: { connected: true } });
    expect(metrics.text).to.include('mooring_http_requests_total').and.to.not.include(lab.a);
  });

  it('from other machines are not accepted without TLS', async () => {
    const settings = { ...lab.settings, listen: '0.0.0.0:0' };
    const thrown: unknown = await startServer(lab.api, settings).catch((error: unknown) => error);

    expect(thrown).to.be.instanceOf(InvalidSettingFault);
  });
});

describe('requests while the store is nearly full', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    const health = { databaseBytes: 960, usedBytes: 960, alarms: [], quotaBytes: 1_000 };
    lab = await new ApiLab({ storeReport: () => ({ ...health, nearsQuota: true, isReserved: true }) }).start();
    token = await lab.tenantToken(lab.a);
  });
  after(() => lab.stop());

  it('are taken from tenants where they store nothing, or cannot wait; others that write are refused', async () => {
    const isWrite = ({ method, access }: Route) =>
      method !== 'GET' && method !== 'DELETE' && access !== 'open' && access.tenant !== undefined;
    const taken = lab.api.routes.filter(route => isWrite(route) && !isGrowth(route));
    const names = taken.map(({ method, path }) => `${method} ${path}`);
    const reviews = '/k8s/apis/authorization.k8s.io/v1/selfsubject';
    expect(names.toSorted()).to.deep.equal([
      'POST /api/v1/archives/deployments/{name}/rollback',
      'POST /api/v1/deployments/{name}/canary',
      'POST /api/v1/deployments/{name}/secrets/rotate',
      'POST /api/v1/nodes/{id}/drain',
      'POST /api/v1/nodes/{id}/fence',
      'POST /api/v1/nodes/{id}/undrain',
      'POST /api/v1/tenants/{tenant}/volumes/{id}/snapshots',
      'POST /api/v1/tokens/sign-in-codes',
      'POST /k8s/api/v1/namespaces/{namespace}/{plural}/{name}/{subresource}',
      'POST /k8s/apis/authentication.k8s.io/v1/selfsubjectreviews',
      `POST ${reviews}accessreviews`,
      `POST ${reviews}rulesreviews`,
    ]);
    expect((await lab.ask('POST', '/api/v1/tokens/sign-in-codes', { token })).status).to.equal(201);
    const refused = await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment() });
    expect([refused.status, refused.body['code']]).to.deep.equal([503, 'store_full']);
  });

  it('are taken from tenants where they delete, and from administrators', async () => {
    const body = webDeployment();
    const admin = (await lab.token({ kind: 'admin' })).text;
    const headers = { 'X-Tenant-ID': lab.a };
    const made = await lab.ask('POST', '/api/v1/deployments', { token: admin, headers, body });
    expect(made.status, made.text).to.equal(201);
    const { id } = (await lab.token({ kind: 'tenant', tenant: lab.a, role: 'viewer' })).stored;
    for (const path of [`/api/v1/deployments/web`, `/api/v1/tokens/${id}`]) {
      const removed = await lab.ask('DELETE', path, { token });
      expect(removed.status, removed.text).to.be.within(200, 202);
    }
  });
});
