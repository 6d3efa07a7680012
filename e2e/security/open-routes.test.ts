import { expect } from 'chai';

import { ApiLab } from '../../api/api-lab.testing.js';
import { mintToken } from '../../pkg/auth/index.js';
import { systemRandom } from '../../pkg/clock/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { formatRenewalText } from '../../pkg/link/index.js';
import { RawConnection, requestText } from './raw-connection.js';

const NODE = `node_${'1'.repeat(26)}`;

describe('endpoints without a token under attack', () => {
  const clock = new ManualClock();
  let lab: ApiLab;
  beforeEach(async () => {
    lab = await new ApiLab({ clock, settings: { openRatePerSecond: 1, openRateBurst: 5 } }).start();
  });
  afterEach(() => lab.stop());

  it('answer so many requests of an address, and leave callers with a token alone', async () => {
    const paths = ['/livez', '/readyz', '/metrics', '/openapi.json', '/docs/codes'];
    for (const path of paths) expect((await lab.ask('GET', path)).status, path).to.equal(200);
    const refused = await lab.ask('GET', '/healthz', { headers: { connection: 'close' } });
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).to.deep.equal([
      429,
      'rate_limited',
      '1',
    ]);
    expect(refused.body['expected']).to.equal('at most 1 request a second');
    const node = await lab.token({ kind: 'node', tenant: lab.a, node: NODE, nodeName: 'machine-1' });
    const at = clock.now();
    const proof = lab.credentials(node.text).sign(formatRenewalText(NODE, at));
    const renew = (body: object) => lab.ask('POST', '/agent/v1/token', { body, headers: { connection: 'close' } });
    const forged = { nodeId: NODE, at, proof: proof.replace(/^./, first => (first === 'A' ? 'B' : 'A')) };
    for (const body of [{}, forged, { ...forged, nodeId: 'node_22222222222222222222222222' }]) {
      expect((await renew(body)).body['code']).to.equal('rate_limited');
    }
    expect((await renew({ nodeId: NODE, at, proof })).status, 'what a node has signed').to.equal(200);

    const token = await lab.tenantToken(lab.a);
    expect((await lab.ask('GET', '/api/v1/deployments', { token })).status).to.equal(200);
    await clock.pass(1_000);
    expect((await lab.ask('GET', '/livez')).status).to.equal(200);
  });

  it('do not hide from a node that its token is refused, whoever guesses from its address', async () => {
    const draft = {
      kind: 'node',
      tenant: lab.a,
      node: 'node_9',
      nodeName: 'x',
      description: '',
      createdBy: 'lab',
    } as const;
    const parts = { keyring: lab.keyring, clock, random: systemRandom };
    const unknown = mintToken({ ...draft, lifeSeconds: 3600 }, parts).text;
    const headers = { connection: 'close' };
    const ask = async (token: string) => (await lab.ask('GET', '/agent/v1/assignments', { token, headers })).status;
    for (let count = 0; count < 10; count++) expect(await ask('guess')).to.equal(401);
    expect([await ask('guess'), await ask(unknown)]).to.deep.equal([429, 401]);
  });

  it('take small bodies only, and so does enrolment', async () => {
    const body = { labels: { x: 'y'.repeat(20_000) } };
    const join = await lab.token({ kind: 'join', tenant: lab.a });
    const answers = [
      await lab.ask('POST', '/agent/v1/token', { body }),
      await lab.ask('POST', '/api/v1/nodes', { body, token: join.text }),
    ];
    for (const { status, body: refusal } of answers) {
      expect([status, refusal['code']]).to.deep.equal([413, 'request_too_large']);
      expect(refusal['expected']).to.equal('a body of at most 16384 bytes');
    }
  });

  it('look at no key that is longer than any name, and neither do others', async () => {
    const raw = JSON.stringify({ ['/'.repeat(8_000)]: 1 });
    const join = await lab.token({ kind: 'join', tenant: lab.a });
    const answers = [
      await lab.ask('POST', '/agent/v1/token', { raw }),
      await lab.ask('POST', '/api/v1/nodes', { raw, token: join.text }),
      await lab.ask('POST', '/api/v1/deployments', { raw, token: await lab.tenantToken(lab.a) }),
    ];
    for (const { status, body, text } of answers) {
      expect([status, body['code']]).to.deep.equal([400, 'request_malformed']);
      expect(text).to.include('the key is longer than 4096 characters');
      expect(text.length).to.be.lessThan(4_000);
    }
  });

  it('take no bodies of more bytes than they announce', async () => {
    const connection = await RawConnection.open(lab.server.port);
    const head = { 'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json' };
    const chunk = `1000\r\n${' '.repeat(0x1000)}\r\n`;
    connection.send(requestText('POST', '/agent/v1/token', head) + chunk.repeat(5));
    await connection.closed();
    expect(connection.answers).to.deep.equal([413]);
  });

  it('refuse a request with two Host headers', async () => {
    for (const second of ['localhost', 'attacker.example']) {
      const connection = await RawConnection.open(lab.server.port);
      connection.send(`GET /livez HTTP/1.1\r\nHost: localhost\r\nhOST: ${second}\r\n\r\n`);
      await connection.closed();
      expect(connection.answers).to.deep.equal([400]);
      expect(connection.received).to.include('request_malformed').and.to.include('the Host header was sent twice');
    }
  });
});
