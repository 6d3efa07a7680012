import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';

import { expect } from 'chai';

import { ApiLab } from '../api-lab.testing.js';
import { HostFilter } from './hosts.js';
import { rejectUnparsable } from './malformed.js';

const HOST = 'Host: localhost\r\n';
const chunked = `${HOST}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n`;

describe('a malformed request', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
  });
  after(() => lab.stop());

  /** Sends bytes as they are, then what `more` says to each piece of the answer; reads until the server closes. */
  const exchange = (text: string, more: (piece: string) => string = () => '') =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(lab.server.port, '127.0.0.1', () => socket.write(text));
      let answer = '';
      socket.setEncoding('utf8').on('data', (piece: string) => {
        answer += piece;
        socket.write(more(piece));
      });
      socket.setTimeout(60_000, () => reject(new Error('the server did not close')));
      socket.on('error', () => undefined).on('close', () => resolve(answer));
    });
  const answerTo = async (text: string) => {
    const [head = '', body = ''] = (await exchange(text)).split('\r\n\r\n');
    const [line = '', ...fields] = head.split('\r\n');
    const headers = new Headers(fields.map(field => field.split(': ') as [string, string]));
    return { status: Number(line.split(' ')[1]), headers, body: JSON.parse(body) as Record<string, unknown> };
  };
  const watch = () => `GET /api/v1/deployments?watch=true HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n`;

  const cases: readonly { name: string; text: () => string; status: number; code: string }[] = [
    { name: 'no host', text: () => 'GET /livez HTTP/1.1\r\n\r\n', status: 400, code: 'request_malformed' },
    { name: 'no HTTP', text: () => 'BLAH\r\n\r\n', status: 400, code: 'request_malformed' },
    { name: 'an unknown method', text: () => `BREW / HTTP/1.1\r\n${HOST}\r\n`, status: 400, code: 'request_malformed' },
    { name: 'a tunnel', text: () => `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`, status: 400, code: 'request_malformed' },
    {
      name: 'two lengths',
      text: () => `POST /api/v1/deployments HTTP/1.1\r\n${chunked}Content-Length: 5\r\n\r\n0\r\n\r\n`,
      status: 400,
      code: 'request_malformed',
    },
    {
      name: 'a broken body',
      text: () => `POST /api/v1/deployments HTTP/1.1\r\n${chunked}Authorization: Bearer ${token}\r\n\r\nzz\r\n`,
      status: 400,
      code: 'request_malformed',
    },
    {
      name: 'too many headers',
      text: () => `GET /livez HTTP/1.1\r\n${HOST}X: ${'x'.repeat(20_000)}\r\n\r\n`,
      status: 431,
      code: 'request_headers_too_large',
    },
    {
      name: 'an expectation that nobody fulfils',
      text: () => `GET /livez HTTP/1.1\r\n${HOST}Expect: foo\r\n\r\n`,
      status: 417,
      code: 'expectation_unsupported',
    },
  ];
  for (const { name, text, status, code } of cases) {
    it(`is answered with an id and a code: ${name}`, async () => {
      const answer = await answerTo(text());

      expect([answer.status, answer.body['code']]).to.deep.equal([status, code]);
      expect(answer.body['rejections']).to.have.length(1);
      expect(answer.headers.get('x-request-id')).to.match(/^req_/);
      expect(answer.headers.get('content-type')).to.include('application/json');
      expect(answer.headers.get('connection')).to.equal('close');
      expect(answer.headers.get('cache-control')).to.equal('no-store');
      expect(answer.headers.get('x-content-type-options')).to.equal('nosniff');
    });
  }

  it('is answered once, though the request it broke is still under way', async () => {
    expect((await answerTo(`${watch()}${chunked}\r\nzz\r\n`)).body['code']).to.equal('request_malformed');
  });

  it('does not replace the answer to the request before it', async () => {
    expect(await exchange(`${watch()}${HOST}\r\nBLAH\r\n\r\n`)).to.equal('');
  });

  it('is counted in the metrics', async () => {
    await answerTo('BLAH\r\n\r\n');

    expect((await lab.ask('GET', '/metrics')).text).to.match(
      /^mooring_http_requests_total\{method="none",route="none",status="400"\} [1-9]/m,
    );
  });

  it('is not answered in the middle of another answer', async () => {
    const answer = await exchange(`${watch()}${HOST}\r\n`, piece => (piece.includes('bookmark') ? 'BLAH\r\n\r\n' : ''));

    expect(answer).to.include(' 200 ').and.to.not.include('request_malformed');
  });

  it('is not a request that expects 100-continue', async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', expect: '100-continue' };
    const asked = request(`${lab.server.url}/api/v1/deployments`, { method: 'POST', headers });
    asked.flushHeaders();
    await once(asked, 'continue');
    asked.end('{}');
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();

    expect(answer.statusCode).to.equal(422);
  });

  it('is answered when it took too long, but not when the connection broke', () => {
    const readCode = (code: string) =>
      rejectUnparsable(Object.assign(new Error(code), { code }), { maxBytes: 1, maxSeconds: 1 })?.rejections[0].code;

    expect(readCode('ERR_HTTP_REQUEST_TIMEOUT')).to.equal('request_stalled');
    expect(readCode('ECONNRESET')).to.equal(undefined);
  });

  it('is a request without a Host header, or with an unknown host on loopback', () => {
    const code = (hosts: HostFilter, header: string | undefined) => hosts.check(header)?.rejections[0].code;

    expect(code(new HostFilter(undefined), undefined)).to.equal('request_malformed');
    expect(code(new HostFilter(undefined), 'any.example')).to.equal(undefined);
    expect(code(new HostFilter([]), 'any.example')).to.equal('host_unknown');
  });
});
