import type { IncomingMessage, ServerResponse } from 'node:http';

import { expect } from 'chai';

import { type Clock, systemClock } from '../clock/index.js';
import {
  answer,
  startByteServer,
  REGISTRY_CREDENTIAL,
  createChecker,
  DIGEST,
  formatErrors,
  ForbiddenListener,
  hurriedClock,
  MANIFEST,
  ScriptedRegistry,
  REGISTRY_TENANT,
  splitIntoWords,
} from './registry-lab.testing.js';

const MOST_REQUESTS = 6;

/** What a hostile registry knows about the hosts around it. */
interface Hosts {
  /** A listener that must not be connected to. */
  readonly forbidden: number;
  /** The hostile registry itself, `host:port`. */
  readonly own: string;
  /** Another registry, which the operator has listed as well. */
  readonly other: string;
}

type Serve = (hosts: Hosts, request: IncomingMessage, response: ServerResponse) => void;

describe('image checker and a hostile registry', () => {
  const forbidden = new ForbiddenListener();
  const hostile = new ScriptedRegistry();
  const other = new ScriptedRegistry();
  before(() => Promise.all([forbidden.start(), hostile.start(), other.start()]));
  after(() => Promise.all([forbidden.stop(), hostile.stop(), other.stop()]));
  beforeEach(() => {
    forbidden.connections = 0;
    hostile.requests.length = 0;
    other.requests.length = 0;
  });

  const check = (image: string, names: Record<string, readonly string[]> = {}, clock: Clock = systemClock) =>
    createChecker({
      settings: { registryInsecure: [hostile.host, other.host] },
      answer: { kind: 'found', credential: REGISTRY_CREDENTIAL },
      resolve: name => Promise.resolve(names[name] ?? []),
      clock,
    }).check(REGISTRY_TENANT, image);

  it('connects to the forbidden listener when it is listed as insecure, so these tests can fail', async () => {
    const settings = { registryInsecure: [`127.0.0.1:${forbidden.port}`] };
    await createChecker({ settings }).check(REGISTRY_TENANT, `127.0.0.1:${forbidden.port}/x:1`);
    expect(forbidden.connections).to.be.above(0);
  });

  describe('refuses without connecting the host', () => {
    const hosts = splitIntoWords(`
      127.0.0.1:F 127.0.0.2:F 0.0.0.0:F localhost:F LOCALHOST:F localhost.localdomain:F 2130706433:F
      0x7f000001:F 0x7f.0.0.1:F 0177.0.0.1:F 017700000001:F 127.1:F 127.0.1:F [::1]:F [::]:F [::ffff:7f00:1]:F
      [::7f00:1]:F [64:ff9b::7f00:1]:F [2002:7f00:1::]:F 169.254.169.254 169.254.169.254:F [fe80::1]:F
      [fd00:ec2::254] 10.0.0.1:F 172.31.255.255:F 192.168.0.1:F 100.64.0.1:F 198.18.0.1:F 224.0.0.1:F
      255.255.255.255:F [ff02::1]:F 127.0.0.1:0 127.0.0.1:65536 127.0.0.1:99999`);
    for (const host of hosts) {
      it(host, async () => {
        const names = { localhost: ['127.0.0.1', '::1'], 'localhost.localdomain': ['127.0.0.1'] };
        const { outcome } = await check(`${host.replace('F', String(forbidden.port))}/x:1`, names);
        expect([outcome, forbidden.connections]).to.deep.equal(['refused', 0]);
      });
    }
  });

  describe('refuses a name that resolves to', () => {
    const answers: ReadonlyArray<readonly [string, readonly string[]]> = [
      ['loopback', ['127.0.0.1']],
      ['loopback in IPv6', ['::1']],
      ['loopback behind a public address', ['8.8.8.8', '127.0.0.1']],
      ['a mapped address', ['::ffff:127.0.0.1']],
      ['the metadata of a cloud', ['169.254.169.254']],
      ['a private network', ['10.1.2.3']],
      ['a unique local address', ['fd12::1']],
      ['text that is not an address', ['127.1']],
    ];
    for (const [name, addresses] of answers) {
      it(name, async () => {
        const found = await check(`evil.example:${forbidden.port}/x:1`, { 'evil.example': addresses });
        expect([found, forbidden.connections]).to.deep.equal([{ outcome: 'refused', reason: 'address' }, 0]);
      });
    }

    it('connects to the first addresses of a name, even when a second look-up would return others', async () => {
      const [inside, rebound] = [new ScriptedRegistry(), new ScriptedRegistry()];
      await inside.start('127.0.0.1');
      await rebound.start('127.0.0.2', inside.port);
      inside.serve = (_request, response) => answer(response, 401, { 'www-authenticate': 'Basic realm="x"' });
      const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2']];
      const images = createChecker({
        settings: { registryInsecure: [`rebind.example:${inside.port}`] },
        answer: { kind: 'found', credential: REGISTRY_CREDENTIAL },
        resolve: () => Promise.resolve(answers.shift() ?? []),
      });
      const found = await images.check(REGISTRY_TENANT, `rebind.example:${inside.port}/x:1`);
      expect(found).to.deep.equal({ outcome: 'credential_refused' });
      expect([inside.requests.length, rebound.requests.length, answers.length]).to.deep.equal([2, 0, 2]);
      await Promise.all([inside.stop(), rebound.stop()]);
    });
  });

  const to = (location: (hosts: Hosts) => string, status: number): Serve => {
    return (hosts, _request, response) => answer(response, status, { location: location(hosts) });
  };
  const outside = ({ forbidden: port }: Hosts) => `http://127.0.0.1:${port}/v2/x/manifests/1`;
  const challenge = (header: (hosts: Hosts) => string): Serve => {
    return (hosts, _request, response) => answer(response, 401, { 'www-authenticate': header(hosts) });
  };
  const realm = (url: (hosts: Hosts) => string) => challenge(hosts => `Bearer realm="${url(hosts)}",service="s"`);
  /** A token server of its own that answers as told, before a registry that wants a token. */
  const token = (serve: Serve): Serve => {
    return (hosts, request, response) => {
      if (request.url?.startsWith('/token')) serve(hosts, request, response);
      else if (request.headers.authorization?.startsWith('Bearer '))
        answer(response, 200, { 'content-type': MANIFEST });
      else realm(({ own }) => `http://${own}/token`)(hosts, request, response);
    };
  };
  const says = (status: number, headers: Record<string, string> = {}, body = ''): Serve => {
    return (_world, _request, response) => answer(response, status, headers, body);
  };
  const nothing: Serve = () => undefined;
  const endless: Serve = (_world, _request, response) => {
    response.writeHead(404, { 'content-type': 'application/json' });
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    };
    response.on('drain', more);
    more();
  };
  const drip: Serve = (_world, request, response) => {
    if (request.method === 'HEAD') return answer(response, 404);
    response.writeHead(404);
    const dripping = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(dripping));
  };
  const onGet = (serve: Serve): Serve => {
    return (hosts, request, response) =>
      request.method === 'HEAD' ? answer(response, 405) : serve(hosts, request, response);
  };

  const cases: ReadonlyArray<readonly [name: string, serve: Serve, reason: string]> = [
    ['redirects with 301', to(outside, 301), 'redirected'],
    ['redirects with 302', to(outside, 302), 'redirected'],
    ['redirects with 303', to(outside, 303), 'redirected'],
    ['redirects with 307', to(outside, 307), 'redirected'],
    ['redirects with 308', to(outside, 308), 'redirected'],
    ['redirects to itself', to(({ own }) => `http://${own}/v2/x/manifests/1`, 307), 'redirected'],
    ['redirects to a listed registry', to(({ other: host }) => `http://${host}/`, 307), 'redirected'],
    ['redirects the GET only', onGet(to(outside, 302)), 'redirected'],
    ['responds 300 with a Location', to(outside, 300), 'redirected'],
    ['responds 201 with a Location', to(outside, 201), 'unintelligible'],
    ['names a realm on loopback', realm(({ forbidden: port }) => `http://127.0.0.1:${port}/token`), 'realm'],
    ['names a realm on loopback with TLS', realm(({ forbidden: port }) => `https://127.0.0.1:${port}/token`), 'realm'],
    ['names a realm as a number', realm(({ forbidden: port }) => `https://2130706433:${port}/`), 'realm'],
    ['names a realm in octal', realm(({ forbidden: port }) => `http://0177.0.0.1:${port}/`), 'realm'],
    ['names a realm in IPv6', realm(({ forbidden: port }) => `https://[::1]:${port}/`), 'realm'],
    [
      'names a realm at an IPv4-mapped address',
      realm(({ forbidden: port }) => `https://[::ffff:127.0.0.1]:${port}/`),
      'realm',
    ],
    [
      'names the metadata service of a cloud as realm',
      realm(() => 'http://169.254.169.254/latest/meta-data/'),
      'realm',
    ],
    ['names a foreign realm', realm(() => 'https://auth.evil.example/token'), 'realm'],
    ['names another listed registry as realm', realm(({ other: host }) => `http://${host}/token`), 'realm'],
    [
      'puts its own host into the user info of a realm',
      realm(({ own, forbidden: port }) => `http://${own}@127.0.0.1:${port}/`),
      'realm',
    ],
    [
      'hides the host of a realm behind a backslash',
      realm(({ forbidden: port }) => `http://127.0.0.1:${port}\\\\@x/`),
      'realm',
    ],
    ['puts user info into its own realm', realm(({ own }) => `http://a:b@${own}/token`), 'realm'],
    ['names a realm without a host', realm(() => '/token'), 'realm'],
    ['names a file URL as realm', realm(() => 'file:///etc/passwd'), 'realm'],
    ['names a realm of another protocol', realm(({ forbidden: port }) => `gopher://127.0.0.1:${port}/_x`), 'realm'],
    ['names no realm', challenge(() => 'Bearer service="s"'), 'realm'],
    ['names an empty realm', realm(() => ''), 'realm'],
    [
      'names a bad realm before a good one',
      challenge(w => `Bearer realm="http://127.0.0.1:${w.forbidden}/", Bearer realm="http://${w.own}/token"`),
      'realm',
    ],
    ['sends a challenge of 12 kB', challenge(() => `Bearer realm="${'x'.repeat(12_000)}"`), 'denied'],
    ['sends a header of 100 kB', challenge(() => 'x'.repeat(100_000)), 'unintelligible'],
    ['sends a malformed challenge', challenge(() => '"",=,,Bearer=;;'), 'denied'],
    ['challenges with an unsupported scheme', challenge(() => 'Negotiate'), 'denied'],
    ['challenges again after a credential', challenge(() => 'Basic realm="x"'), 'denied'],
    ['redirects the token request', token(to(outside, 302)), 'redirected'],
    ['challenges the token request', token(challenge(() => 'Basic realm="x"')), 'denied'],
    ['responds 503 to the token request', token(says(503)), 'failing'],
    [
      'responds with HTML to the token request',
      token(says(200, { 'content-type': 'text/html' }, '<html>')),
      'unintelligible',
    ],
    ['sends a token with a line break', token(says(200, {}, '{"token":"a\\r\\nhost: x"}')), 'unintelligible'],
    ['sends a number as token', token(says(200, {}, '{"token":1}')), 'unintelligible'],
    ['sends an empty token', token(says(200, {}, '{"token":""}')), 'unintelligible'],
    ['responds with null to the token request', token(says(200, {}, 'null')), 'unintelligible'],
    ['sends a token of 20 kB', token(says(200, {}, `{"token":"${'x'.repeat(20_000)}"}`)), 'unintelligible'],
    [
      'responds with deeply nested JSON to the token request',
      token(says(200, {}, '['.repeat(60_000))),
      'unintelligible',
    ],
    ['responds with 70 kB to the token request', token(says(200, {}, 'x'.repeat(70_000))), 'too_large'],
    ['never responds to the token request', token(nothing), 'late'],
    [
      'challenges again after a token',
      (w, request, response) => {
        if (request.url?.startsWith('/token')) answer(response, 200, {}, '{"token":"t"}');
        else realm(({ own }) => `http://${own}/token`)(w, request, response);
      },
      'denied',
    ],
    ['never responds', nothing, 'late'],
    ['responds one byte at a time', drip, 'late'],
    ['sends an endless body', onGet(endless), 'too_large'],
    ['sends HTML instead of a manifest', says(200, { 'content-type': 'text/html' }, '<html>'), 'unintelligible'],
    ['sends JSON that is not a manifest', says(200, { 'content-type': 'application/json' }, '{}'), 'unintelligible'],
    ['responds 200 without a media type', says(200), 'unintelligible'],
    ['responds 206', says(206, { 'content-type': MANIFEST }), 'unintelligible'],
    ['responds 204', says(204, { 'content-type': MANIFEST }), 'unintelligible'],
    [
      'sends an invalid digest',
      says(200, { 'content-type': MANIFEST, 'docker-content-digest': 'x' }),
      'unintelligible',
    ],
    [
      'sends a manifest that does not match its digest',
      onGet(says(200, { 'content-type': MANIFEST, 'docker-content-digest': DIGEST }, '{}')),
      'unintelligible',
    ],
    ['responds 404 with HTML', says(404, { 'content-type': 'text/html' }, '<html>'), 'unintelligible'],
    ['responds 404 without a body', says(404), 'unintelligible'],
    ['responds 404 with another error code', says(404, {}, formatErrors('DENIED')), 'unintelligible'],
    ['responds 404 with malformed errors', says(404, {}, '{"errors":[null,7,"MANIFEST_UNKNOWN"]}'), 'unintelligible'],
    ['responds 403', says(403, {}, formatErrors('DENIED')), 'denied'],
    ['responds 429', says(429, {}, formatErrors('TOOMANYREQUESTS')), 'failing'],
    ['responds 500', says(500), 'failing'],
    ['responds 418', says(418), 'unintelligible'],
  ];

  describe('reports as unreachable a registry that', () => {
    for (const [name, serve, reason] of cases) {
      it(name, async () => {
        const hosts = { forbidden: forbidden.port, own: hostile.host, other: other.host };
        hostile.serve = (request, response) => serve(hosts, request, response);
        const found = await check(`${hostile.host}/x:1`, {}, reason === 'late' ? hurriedClock : systemClock);

        const refused = { outcome: 'credential_refused' };
        expect(found).to.deep.equal(reason === 'denied' ? refused : { outcome: 'unreachable', reason });
        expect([forbidden.connections, other.requests.length]).to.deep.equal([0, 0]);
        expect(hostile.requests.length).to.be.within(1, MOST_REQUESTS);
      });
    }
  });

  const bytes: ReadonlyArray<readonly [name: string, text: string, reason: string]> = [
    ['garbage', '\u0000\u0001\u0002\r\n\r\n', 'unintelligible'],
    ['the greeting of a mail server', '220 mail.example ESMTP\r\n', 'unintelligible'],
    [
      'two Content-Length headers',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
      'unintelligible',
    ],
    ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', 'no_connection'],
    ['half a response head', 'HTTP/1.1 200 OK\r\ncontent-ty', 'no_connection'],
    ['nothing at all', '', 'no_connection'],
  ];
  describe('reports as unreachable a server that sends', () => {
    for (const [name, text, reason] of bytes) {
      it(name, async () => {
        const server = await startByteServer(socket => {
          socket.once('data', () => socket.end(text));
        });
        const images = createChecker({ settings: { registryInsecure: [server.host] } });
        const found = await images.check(REGISTRY_TENANT, `${server.host}/x:1`);
        await server.stop();
        expect(found).to.deep.equal({ outcome: 'unreachable', reason });
      });
    }
  });
});
