import { connect } from 'node:net';

import { expect } from 'chai';

import { ApiLab, type LabResponse, webDeployment } from './api-lab.testing.js';
import { WatchReader } from './watch/watch-reader.testing.js';

type Fields = Readonly<Record<string, unknown>>;
const list = (value: unknown) => value as readonly Fields[];

describe('the API ignores nothing in silence', () => {
  let lab: ApiLab;
  let token: string;
  let admin: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    admin = (await lab.token({ kind: 'admin' })).text;
  });
  after(() => lab.stop());

  const refusals: readonly [path: string, code: string, field: string][] = [
    ['/api/v1/deployments?after=5', 'query_parameter_invalid', 'after'],
    ['/api/v1/deployments?watch=false&after=5', 'query_parameter_invalid', 'after'],
    ['/api/v1/deployments?watch=true&limit=5', 'query_parameter_invalid', 'limit'],
    ['/api/v1/deployments?watch=true&continue=x', 'query_parameter_invalid', 'continue'],
    ['/api/v1/events?type=deployment.nonsense', 'query_parameter_invalid', 'type'],
    ['/api/v1/events?type=', 'query_parameter_invalid', 'type'],
    ['/api/v1/events?watch=true&type=x', 'query_parameter_invalid', 'type'],
    ['/api/v1/deployments?=x', 'query_parameter_unknown', 'query'],
  ];
  for (const [path, code, field] of refusals) {
    it(`refuses ${path}`, async () => {
      const { status, body } = await lab.ask('GET', path, { token });
      expect([status, body['code'], body['field']]).to.deep.equal([400, code, field]);
    });
  }

  it('accepts after in a list of events, and a type that exists', async () => {
    const { status } = await lab.ask('GET', '/api/v1/events?after=1&type=deployment.created', { token });
    expect(status).to.equal(200);
  });

  it('refuses a body on DELETE and deletes nothing', async () => {
    await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment('stays') });
    const { status, body } = await lab.ask('DELETE', '/api/v1/deployments/stays', { token, body: { cascade: true } });
    expect([status, body['code'], body['field']]).to.deep.equal([400, 'request_malformed', 'body']);
    const kept = await lab.ask('GET', '/api/v1/deployments/stays', { token });
    expect(kept.body['metadata']).not.to.have.property('deletedAt');
  });

  for (const type of ['application/json; charset=latin1', 'application/json;charset="utf-16"']) {
    it(`refuses ${type}`, async () => {
      const headers = { 'content-type': type };
      const { status, body } = await lab.ask('POST', '/api/v1/deployments', { token, body: {}, headers });
      expect([status, body['code'], body['field']]).to.deep.equal([415, 'media_type_unsupported', 'Content-Type']);
    });
  }

  it('accepts UTF-8 that is named', async () => {
    const headers = { 'content-type': 'application/json; charset=UTF-8' };
    const { status } = await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment('named'), headers });
    expect(status).to.equal(201);
  });

  for (const [header, lines] of [
    ['Authorization', (host: string) => `Host: ${host}\r\nAuthorization: Bearer other\r\n`],
    ['Host', (host: string) => `Host: ${host}\r\nHost: ${host}\r\n`],
  ] as const) {
    it(`refuses ${header} that is sent twice`, async () => {
      const { port } = new URL(lab.server.url);
      const text = await new Promise<string>((resolve, reject) => {
        let read = '';
        const own = `Authorization: Bearer ${token}\r\n${lines('localhost')}Connection: close\r\n\r\n`;
        const socket = connect(Number(port), '127.0.0.1', () =>
          socket.write(`GET /api/v1/deployments HTTP/1.1\r\n${own}`),
        );
        socket.on('data', chunk => {
          read += chunk.toString();
        });
        socket.on('end', () => resolve(read));
        socket.on('error', reject);
      });
      expect(text).to.match(/^HTTP\/1.1 400 /);
      expect(text).to.include('"code":"request_malformed"').and.to.include(`"field":"${header}"`);
    });
  }

  it('takes If-Match with and without quotes', async () => {
    const made = await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment('matched') });
    const { revision } = made.body['metadata'] as { readonly revision: string };
    const put = (ifMatch: string, replicas: number) =>
      lab.ask('PUT', '/api/v1/deployments/matched', { token, body: { replicas }, headers: { 'if-match': ifMatch } });
    expect((await put('1', 3)).body['code']).to.equal('revision_mismatch');
    expect((await put(revision, 3)).status).to.equal(200);
  });

  it('takes a tenant in capitals, and announces it', async () => {
    const headers = { 'x-tenant-id': lab.a.toUpperCase() };
    const made = await lab.ask('POST', '/api/v1/deployments', { token: admin, body: webDeployment('loud'), headers });
    expect(made.status, made.text).to.equal(201);
    expect(list(made.body['alterations']).at(-1)).to.include({ field: 'X-Tenant-ID', to: lab.a });
    const shown = await lab.ask('GET', '/api/v1/deployments/loud', { token, headers });
    expect(list(shown.body['alterations'])).to.have.length(1);
    const tenant = await lab.ask('GET', `/api/v1/tenants/${lab.a.toUpperCase()}`, { token: admin });
    expect(tenant.status).to.equal(200);
  });

  it('announces the defaults of a token', async () => {
    const made = await lab.ask('POST', '/api/v1/tokens', { token, body: {} });
    expect(list(made.body['alterations']).map(({ field, to }) => [field, to])).to.deep.equal([
      ['kind', 'tenant'],
      ['role', 'viewer'],
      ['expiresInSeconds', 90 * 86_400],
    ]);
  });

  it('warns of secrets that do not resolve, in a write as in a dry run', async () => {
    const secrets = [{ name: 'DB', vault_path: 'deployments/unwritten', anchor: 'process' }];
    const body = webDeployment('patient', { secrets });
    for (const path of ['/api/v1/deployments?dryRun=true', '/api/v1/deployments']) {
      const answer = await lab.ask('POST', path, { token, body });
      expect(list(answer.body['warnings']).map(({ code, field }) => [code, field])).to.deep.equal([
        ['secret_missing', 'secrets[0].vault_path'],
      ]);
    }
  });

  it('warns when a secret is written without a key that a template uses', async () => {
    const secret = '/api/v1/secrets/deployments/templated';
    await lab.ask('PUT', secret, { token, body: { values: { user: 'shop', password: 'long enough' } } });
    const secrets = [{ name: 'DB', vault_path: 'deployments/templated', anchor: 'process' }];
    const composedSecrets = { URL: 'db://{{secret.templated.user}}' };
    await lab.ask('POST', '/api/v1/deployments', {
      token,
      body: webDeployment('template', { secrets, composedSecrets }),
    });
    await lab.cache.barrier();
    const dropped = await lab.ask('PUT', secret, { token, body: { values: { password: 'another one' } } });
    expect(dropped.status, dropped.text).to.equal(200);
    expect(list(dropped.body['warnings']).map(({ code }) => code)).to.deep.equal(['secret_key_in_use']);
    expect(dropped.text).not.to.include('another one');
  });
});

describe('lists', () => {
  let lab: ApiLab;
  let admin: string;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    admin = (await lab.token({ kind: 'admin' })).text;
    token = await lab.tenantToken(lab.a);
  });
  after(() => lab.stop());

  /** A watch whose current objects have been read. */
  const watch = async (path: string, bearer: string) => {
    const reader = await WatchReader.open(`${lab.server.url}${path}?watch=true`, { authorization: `Bearer ${bearer}` });
    for (let [line] = await reader.take(1); line?.type !== 'bookmark'; ) [line] = await reader.take(1);
    return reader;
  };

  it('carry one revision on all pages, also when something changes between them', async () => {
    for (const name of ['a', 'b', 'c']) {
      await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name) });
    }
    const revisions: unknown[] = [];
    let next: string | null = '';
    for (let page = 0; next !== null; page++) {
      const more = next === '' ? '' : `&continue=${next}`;
      const { body }: LabResponse = await lab.ask('GET', `/api/v1/deployments?limit=1${more}`, { token });
      revisions.push(body['revision']);
      next = body['next'] as string | null;
      await lab.ask('PUT', '/api/v1/deployments/a', { token, body: { replicas: page + 3 } });
    }
    expect(new Set(revisions).size).to.equal(1);
    expect(revisions.length).to.be.at.least(3);
  });

  it('of tenants and tokens are in the order of their ids', async () => {
    for (const path of ['/api/v1/tenants', '/api/v1/tokens']) {
      const { body } = await lab.ask('GET', path, { token: admin });
      const ids = list(body['items']).map(({ id }) => String(id));
      expect(ids).to.deep.equal([...ids].sort());
    }
  });

  it('of tenants can be watched', async () => {
    const reader = await watch('/api/v1/tenants', admin);
    const made = await lab.ask('POST', '/api/v1/tenants', { token: admin, body: { name: 'newcomer' } });
    const [line] = await reader.take(1);
    expect([line?.type, line?.object?.['id']]).to.deep.equal(['added', made.body['id']]);
    reader.close();
  });

  it('of tokens can be watched, each tenant’s by itself and without digests', async () => {
    const reader = await watch('/api/v1/tokens', token);
    await lab.tenantToken(lab.b);
    const own = await lab.token({ kind: 'tenant', tenant: lab.a, role: 'viewer' });
    const [line] = await reader.take(1);
    expect(line?.object).to.deep.include({ id: own.stored.id, tenant: lab.a });
    expect(JSON.stringify(line)).not.to.include(own.stored.digest);
    reader.close();
  });
});
