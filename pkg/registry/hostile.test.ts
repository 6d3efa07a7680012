import type { IncomingMessage, ServerResponse } from 'node:http';

import { expect } from 'chai';

import { type Clock, systemClock } from '../clock/index.js';
import {
  answer,
  byteServer,
  REGISTRY_CREDENTIAL,
  checkerOf,
  DIGEST,
  errorsOf,
  ForbiddenListener,
  hurriedClock,
  MANIFEST,
  ScriptedRegistry,
  REGISTRY_TENANT,
  words,
} from './registry-lab.testing.js';

const MOST_REQUESTS = 6;

/** What a hostile registry knows of the world around it. */
interface World {
  /** A listener that nobody may connect to. */
  readonly forbidden: number;
  /** The hostile registry itself, `host:port`. */
  readonly own: string;
  /** Another registry, which the operator has listed as well. */
  readonly other: string;
}

type Serve = (world: World, request: IncomingMessage, response: ServerResponse) => void;

describe('a hostile registry', () => {
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
    checkerOf({
      settings: { registryInsecure: [hostile.host, other.host] },
      answer: { kind: 'found', credential: REGISTRY_CREDENTIAL },
      resolve: name => Promise.resolve(names[name] ?? []),
      clock,
    }).check(REGISTRY_TENANT, image);

  it('would be noticed: the forbidden listener counts who connects', async () => {
    const settings = { registryInsecure: [`127.0.0.1:${forbidden.port}`] };
    await checkerOf({ settings }).check(REGISTRY_TENANT, `127.0.0.1:${forbidden.port}/x:1`);
    expect(forbidden.connections).to.be.above(0);
  });

  describe('named by an address that is none of ours to ask', () => {
    const hosts = words(`
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

  describe('named by a name that leads inside', () => {
    const answers: ReadonlyArray<readonly [string, readonly string[]]> = [
      ['loopback', ['127.0.0.1']],
      ['loopback in IPv6', ['::1']],
      ['loopback behind a public address', ['8.8.8.8', '127.0.0.1']],
      ['a mapped address', ['::ffff:127.0.0.1']],
      ['the metadata of a cloud', ['169.254.169.254']],
      ['a private network', ['10.1.2.3']],
      ['a unique local address', ['fd12::1']],
      ['no address', ['127.1']],
    ];
    for (const [name, addresses] of answers) {
      it(name, async () => {
        const found = await check(`evil.example:${forbidden.port}/x:1`, { 'evil.example': addresses });
        expect([found, forbidden.connections]).to.deep.equal([{ outcome: 'refused', reason: 'address' }, 0]);
      });
    }

    it('and means something else when it is looked up again', async () => {
      const [inside, rebound] = [new ScriptedRegistry(), new ScriptedRegistry()];
      await inside.start('127.0.0.1');
      await rebound.start('127.0.0.2', inside.port);
      inside.serve = (_request, response) => answer(response, 401, { 'www-authenticate': 'Basic realm="x"' });
      const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2']];
      const images = checkerOf({
        settings: { registryInsecure: [`rebind.example:${inside.port}`] },
        answer: { kind: 'found', credential: REGISTRY_CREDENTIAL },
        resolve: () => Promise.resolve(answers.shift() ?? []),
      });
      const found = await images.check(REGISTRY_TENANT, `rebind.example:${inside.port}/x:1`);
      expect(found).to.deep.equal({ outcome: 'unreachable', reason: 'denied' });
      expect([inside.requests.length, rebound.requests.length, answers.length]).to.deep.equal([2, 0, 2]);
      await Promise.all([inside.stop(), rebound.stop()]);
    });
  });

  const to = (location: (world: World) => string, status: number): Serve => {
    return (world, _request, response) => answer(response, status, { location: location(world) });
  };
  const outside = ({ forbidden: port }: World) => `http://127.0.0.1:${port}/v2/x/manifests/1`;
  const challenge = (header: (world: World) => string): Serve => {
    return (world, _request, response) => answer(response, 401, { 'www-authenticate': header(world) });
  };
  const realm = (url: (world: World) => string) => challenge(world => `Bearer realm="${url(world)}",service="s"`);
  /** A token server of its own that answers as told, before a registry that wants a token. */
  const token = (serve: Serve): Serve => {
    return (world, request, response) => {
      if (request.url?.startsWith('/token')) serve(world, request, response);
      else if (request.headers.authorization?.startsWith('Bearer '))
        answer(response, 200, { 'content-type': MANIFEST });
      else realm(({ own }) => `http://${own}/token`)(world, request, response);
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
    return (world, request, response) =>
      request.method === 'HEAD' ? answer(response, 405) : serve(world, request, response);
  };

  const cases: ReadonlyArray<readonly [name: string, serve: Serve, reason: string]> = [
    ['redirects with 301', to(outside, 301), 'redirected'],
    ['redirects with 302', to(outside, 302), 'redirected'],
    ['redirects with 303', to(outside, 303), 'redirected'],
    ['redirects with 307', to(outside, 307), 'redirected'],
    ['redirects with 308', to(outside, 308), 'redirected'],
    ['redirects to itself', to(({ own }) => `http://${own}/v2/x/manifests/1`, 307), 'redirected'],
    ['redirects to a listed registry', to(({ other: host }) => `http://${host}/`, 307), 'redirected'],
    ['redirects what GET asks', onGet(to(outside, 302)), 'redirected'],
    ['offers choices', to(outside, 300), 'redirected'],
    ['says created, elsewhere', to(outside, 201), 'unintelligible'],
    ['names a realm inside', realm(({ forbidden: port }) => `http://127.0.0.1:${port}/token`), 'realm'],
    ['names a realm inside, with TLS', realm(({ forbidden: port }) => `https://127.0.0.1:${port}/token`), 'realm'],
    ['names a realm as a number', realm(({ forbidden: port }) => `https://2130706433:${port}/`), 'realm'],
    ['names a realm in octal', realm(({ forbidden: port }) => `http://0177.0.0.1:${port}/`), 'realm'],
    ['names a realm in IPv6', realm(({ forbidden: port }) => `https://[::1]:${port}/`), 'realm'],
    ['names a mapped realm', realm(({ forbidden: port }) => `https://[::ffff:127.0.0.1]:${port}/`), 'realm'],
    ['names the metadata of a cloud', realm(() => 'http://169.254.169.254/latest/meta-data/'), 'realm'],
    ['names a foreign realm', realm(() => 'https://auth.evil.example/token'), 'realm'],
    ['names another listed registry', realm(({ other: host }) => `http://${host}/token`), 'realm'],
    ['hides a realm behind itself', realm(({ own, forbidden: port }) => `http://${own}@127.0.0.1:${port}/`), 'realm'],
    ['hides a realm behind a backslash', realm(({ forbidden: port }) => `http://127.0.0.1:${port}\\\\@x/`), 'realm'],
    ['puts user-info into its own realm', realm(({ own }) => `http://a:b@${own}/token`), 'realm'],
    ['names a realm without a host', realm(() => '/token'), 'realm'],
    ['names a file', realm(() => 'file:///etc/passwd'), 'realm'],
    ['names another protocol', realm(({ forbidden: port }) => `gopher://127.0.0.1:${port}/_x`), 'realm'],
    ['names no realm', challenge(() => 'Bearer service="s"'), 'realm'],
    ['names an empty realm', realm(() => ''), 'realm'],
    [
      'names a bad realm before a good one',
      challenge(w => `Bearer realm="http://127.0.0.1:${w.forbidden}/", Bearer realm="http://${w.own}/token"`),
      'realm',
    ],
    ['sends a challenge that never ends', challenge(() => `Bearer realm="${'x'.repeat(12_000)}"`), 'denied'],
    ['sends a head that never ends', challenge(() => 'x'.repeat(100_000)), 'unintelligible'],
    ['challenges with nonsense', challenge(() => '"",=,,Bearer=;;'), 'denied'],
    ['challenges with a scheme of its own', challenge(() => 'Negotiate'), 'denied'],
    ['challenges for ever', challenge(() => 'Basic realm="x"'), 'denied'],
    ['redirects whoever wants a token', token(to(outside, 302)), 'redirected'],
    ['challenges whoever wants a token', token(challenge(() => 'Basic realm="x"')), 'denied'],
    ['fails whoever wants a token', token(says(503)), 'failing'],
    ['gives a page for a token', token(says(200, { 'content-type': 'text/html' }, '<html>')), 'unintelligible'],
    ['gives a token that ends a header', token(says(200, {}, '{"token":"a\\r\\nhost: x"}')), 'unintelligible'],
    ['gives a number for a token', token(says(200, {}, '{"token":1}')), 'unintelligible'],
    ['gives an empty token', token(says(200, {}, '{"token":""}')), 'unintelligible'],
    ['gives null for a token', token(says(200, {}, 'null')), 'unintelligible'],
    ['gives a token that is too long', token(says(200, {}, `{"token":"${'x'.repeat(20_000)}"}`)), 'unintelligible'],
    ['gives a token in a deep nest', token(says(200, {}, '['.repeat(60_000))), 'unintelligible'],
    ['gives more than anybody reads', token(says(200, {}, 'x'.repeat(70_000))), 'too_large'],
    ['never gives a token', token(nothing), 'late'],
    [
      'wants a token, and then another',
      (w, request, response) => {
        if (request.url?.startsWith('/token')) answer(response, 200, {}, '{"token":"t"}');
        else realm(({ own }) => `http://${own}/token`)(w, request, response);
      },
      'denied',
    ],
    ['never answers', nothing, 'late'],
    ['answers a byte at a time', drip, 'late'],
    ['answers without end', onGet(endless), 'too_large'],
    ['shows a page', says(200, { 'content-type': 'text/html' }, '<html>'), 'unintelligible'],
    ['shows some JSON', says(200, { 'content-type': 'application/json' }, '{}'), 'unintelligible'],
    ['shows nothing in particular', says(200), 'unintelligible'],
    ['shows a part', says(206, { 'content-type': MANIFEST }), 'unintelligible'],
    ['shows no content', says(204, { 'content-type': MANIFEST }), 'unintelligible'],
    ['makes up a digest', says(200, { 'content-type': MANIFEST, 'docker-content-digest': 'x' }), 'unintelligible'],
    [
      'shows a manifest with another digest',
      onGet(says(200, { 'content-type': MANIFEST, 'docker-content-digest': DIGEST }, '{}')),
      'unintelligible',
    ],
    ['has a page for what is missing', says(404, { 'content-type': 'text/html' }, '<html>'), 'unintelligible'],
    ['misses without a word', says(404), 'unintelligible'],
    ['misses for another reason', says(404, {}, errorsOf('DENIED')), 'unintelligible'],
    ['misses with nonsense', says(404, {}, '{"errors":[null,7,"MANIFEST_UNKNOWN"]}'), 'unintelligible'],
    ['forbids', says(403, {}, errorsOf('DENIED')), 'denied'],
    ['has had enough', says(429, {}, errorsOf('TOOMANYREQUESTS')), 'failing'],
    ['is broken', says(500), 'failing'],
    ['is a teapot', says(418), 'unintelligible'],
  ];

  describe('that', () => {
    for (const [name, serve, reason] of cases) {
      it(name, async () => {
        const world = { forbidden: forbidden.port, own: hostile.host, other: other.host };
        hostile.serve = (request, response) => serve(world, request, response);
        const found = await check(`${hostile.host}/x:1`, {}, reason === 'late' ? hurriedClock : systemClock);

        expect(found).to.deep.equal({ outcome: 'unreachable', reason });
        expect([forbidden.connections, other.requests.length]).to.deep.equal([0, 0]);
        expect(hostile.requests.length).to.be.within(1, MOST_REQUESTS);
      });
    }
  });

  const bytes: ReadonlyArray<readonly [name: string, text: string, reason: string]> = [
    ['garbage', '\u0000\u0001\u0002\r\n\r\n', 'unintelligible'],
    ['a greeting of mail', '220 mail.example ESMTP\r\n', 'unintelligible'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 'unintelligible'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', 'no_connection'],
    ['half a head', 'HTTP/1.1 200 OK\r\ncontent-ty', 'no_connection'],
    ['nothing at all', '', 'no_connection'],
  ];
  describe('that sends', () => {
    for (const [name, text, reason] of bytes) {
      it(name, async () => {
        const server = await byteServer(socket => {
          socket.once('data', () => socket.end(text));
        });
        const images = checkerOf({ settings: { registryInsecure: [server.host] } });
        const found = await images.check(REGISTRY_TENANT, `${server.host}/x:1`);
        await server.stop();
        expect(found).to.deep.equal({ outcome: 'unreachable', reason });
      });
    }
  });
});
