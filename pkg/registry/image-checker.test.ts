import type { IncomingMessage, ServerResponse } from 'node:http';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import type { CredentialLookup } from './challenge.js';
import {
  answer,
  REGISTRY_CREDENTIAL,
  createChecker,
  createCredentials,
  DIGEST,
  formatErrors,
  hurriedClock,
  MANIFEST,
  ScriptedRegistry,
  REGISTRY_TENANT,
} from './registry-lab.testing.js';

const OTHER_TENANT = '7d0a5c1e-0000-4000-8000-000000000002';
const BASIC = `Basic ${Buffer.from(`${REGISTRY_CREDENTIAL.username}:${REGISTRY_CREDENTIAL.password}`).toString('base64')}`;
const present = { outcome: 'present', digest: DIGEST };
const absent = { outcome: 'absent' };
const loginRequired = { outcome: 'login_required' };
const credentialRefused = { outcome: 'credential_refused' };
const storeUnavailable = { outcome: 'credential_store_unavailable' };
const found: CredentialLookup = { kind: 'found', credential: REGISTRY_CREDENTIAL };
const none: CredentialLookup = { kind: 'none' };
const unavailable: CredentialLookup = { kind: 'unavailable' };

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

const has: Serve = (_request, response) =>
  answer(response, 200, { 'content-type': MANIFEST, 'docker-content-digest': DIGEST });
const lacks: Serve = (_request, response) => answer(response, 404, {}, formatErrors('MANIFEST_UNKNOWN'));

describe('image checker', () => {
  const registry = new ScriptedRegistry();
  before(() => registry.start());
  after(() => registry.stop());
  beforeEach(() => {
    registry.requests.length = 0;
    registry.serve = has;
  });

  const settings = () => ({ registryInsecure: [registry.host] });
  const check = (image: string, known: CredentialLookup = none) =>
    createChecker({ settings: settings(), answer: known }).check(REGISTRY_TENANT, `${registry.host}/${image}`);

  /** Accepts requests with the right header, and challenges all others. */
  const behind = (header: string, challenge: string, inside: Serve): Serve => {
    return (request, response) =>
      request.headers.authorization === header
        ? inside(request, response)
        : answer(response, 401, { 'www-authenticate': challenge });
  };
  const bearer = () => `Bearer realm="http://${registry.host}/token?a=b",service="lab",scope="registry:catalog:*"`;
  /** A registry whose token server gives tokens to those it is told to. */
  const behindToken = (gives: (authorization: string | undefined) => boolean, inside: Serve): Serve => {
    return (request, response) => {
      if (!request.url?.startsWith('/token')) return behind('Bearer good', bearer(), inside)(request, response);
      if (gives(request.headers.authorization)) return answer(response, 200, {}, '{"token":"good"}');
      return answer(response, 401);
    };
  };

  it('sends an anonymous HEAD for the manifest with all four media types', async () => {
    expect(await check('shop/web:1.4.2', found)).to.deep.equal(present);
    const [request, ...more] = registry.requests;
    expect([request?.method, request?.url, more.length]).to.deep.equal(['HEAD', '/v2/shop/web/manifests/1.4.2', 0]);
    expect(request?.headers.authorization).to.equal(undefined);
    expect(request?.headers.accept?.split(', ')).to.have.lengthOf(4);
  });

  it('requests by digest where there is one, and accepts no other', async () => {
    expect(await check(`web:1@${DIGEST}`)).to.deep.equal(present);
    expect(registry.requests[0]?.url).to.equal(`/v2/web/manifests/${DIGEST}`);
    const other = `sha256:${'b'.repeat(64)}`;
    expect(await check(`web@${other}`)).to.deep.equal({ outcome: 'unreachable', reason: 'unintelligible' });
  });

  it('sends GET when HEAD is refused, and computes the digest', async () => {
    registry.serve = (request, response) =>
      request.method === 'HEAD' ? answer(response, 405) : answer(response, 200, { 'content-type': MANIFEST }, '{}');
    const digest = 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a';
    expect(await check('web:1')).to.deep.equal({ outcome: 'present', digest });
  });

  for (const code of ['MANIFEST_UNKNOWN', 'NAME_UNKNOWN', 'NOT_FOUND']) {
    it(`takes ${code} as proof of absence`, async () => {
      registry.serve = (_request, response) => answer(response, 404, {}, formatErrors('X', code));
      expect(await check('web:1')).to.deep.equal(absent);
    });
  }

  it('checks a reference without a host in the default registry', async () => {
    const images = createChecker({ settings: { ...settings(), registryDefault: registry.host } });
    await images.check(REGISTRY_TENANT, 'nginx:1');
    await images.check(REGISTRY_TENANT, 'shop/web:1');
    const urls = registry.requests.map(({ url }) => url);
    expect(urls).to.deep.equal(['/v2/library/nginx/manifests/1', '/v2/shop/web/manifests/1']);
  });

  it('connects to no registry that is not listed', async () => {
    const images = createChecker({ settings: { registryAllow: ['registry.example.com'] } });
    const outcome = await images.check(REGISTRY_TENANT, `${registry.host}/web:1`);
    expect(outcome).to.deep.equal({ outcome: 'refused', reason: 'not_listed' });
    expect(await images.imageFact(REGISTRY_TENANT, `${registry.host}/web:1`)).to.equal('refused');
    expect(registry.requests).to.have.lengthOf(0);
  });

  describe('with credentials', () => {
    it('sends them to its own registry only after a challenge', async () => {
      registry.serve = behind(BASIC, 'Basic realm="x"', has);
      expect(await check('web:1', found)).to.deep.equal(present);
      expect(registry.requests.map(({ headers }) => headers.authorization)).to.deep.equal([undefined, BASIC]);
    });

    it('sends them to the token server, and only the token to the registry', async () => {
      registry.serve = behindToken(authorization => authorization === BASIC, has);
      expect(await check('shop/web:1', found)).to.deep.equal(present);
      const sent = registry.requests.map(({ headers }) => headers.authorization);
      expect(sent).to.deep.equal([undefined, BASIC, 'Bearer good']);
    });

    it('requests the pull scope of this repository, whatever scope the challenge names', async () => {
      registry.serve = behindToken(() => true, has);
      await check('shop/web:1', found);
      const { searchParams } = new URL(registry.requests[1]?.url ?? '', 'http://x');
      expect([...searchParams]).to.deep.equal([
        ['a', 'b'],
        ['service', 'lab'],
        ['scope', 'repository:shop/web:pull'],
      ]);
    });

    it('requests an anonymous token when the tenant has none', async () => {
      registry.serve = behindToken(authorization => authorization === undefined, has);
      expect(await check('web:1')).to.deep.equal(present);
    });

    it('reports an absence only after the registry has seen them', async () => {
      registry.serve = (request, response) => {
        if (request.headers.authorization === BASIC) has(request, response);
        else if (request.url === '/v2/') answer(response, 401, { 'www-authenticate': 'Basic realm="x"' });
        else lacks(request, response);
      };
      expect(await check('web:1')).to.deep.equal(absent);
      expect(await check('web:1', found)).to.deep.equal(present);
    });

    it('reports the absence in a registry without authentication', async () => {
      registry.serve = (request, response) =>
        request.url === '/v2/' ? answer(response, 200) : lacks(request, response);
      expect(await check('web:1', found)).to.deep.equal(absent);
    });

    const answers: ReadonlyArray<readonly [name: string, serve: () => Serve, known: CredentialLookup, check: unknown]> =
      [
        ['none, where some are wanted', () => behind(BASIC, 'Basic realm="x"', has), none, loginRequired],
        ['wrong ones', () => behind('Basic other', 'Basic realm="x"', has), found, credentialRefused],
        ['wrong ones for a token', () => behindToken(() => false, has), found, credentialRefused],
        ['a store that is down', () => behind(BASIC, 'Basic realm="x"', has), unavailable, storeUnavailable],
        ['a store that is down, no token', () => behindToken(() => false, has), unavailable, storeUnavailable],
        ['a store that is down, not found', () => lacks, unavailable, storeUnavailable],
        [
          'a store that is down, not found with a token',
          () => behindToken(() => true, lacks),
          unavailable,
          storeUnavailable,
        ],
        ['a store that is down, a public image', () => behindToken(() => true, has), unavailable, present],
        ['a store that is down, an open registry', () => has, unavailable, present],
      ];
    for (const [name, serve, known, expected] of answers) {
      it(`says so: ${name}`, async () => {
        registry.serve = serve();
        expect(await check('web:1', known)).to.deep.equal(expected);
      });
    }

    it('looks up the tenant’s own credential for the registry in the reference', async () => {
      registry.serve = behind(BASIC, 'Basic realm="x"', has);
      const asked: string[][] = [];
      const credentials = {
        credentialsFor: (tenant: string, host: string) => {
          asked.push([tenant, host]);
          return Promise.resolve(none);
        },
      };
      await createChecker({ settings: settings(), credentials }).check(REGISTRY_TENANT, `${registry.host}/web:1`);
      expect(asked).to.deep.equal([[REGISTRY_TENANT, registry.host]]);
    });

    const broken = {
      fails: () => Promise.reject(new Error('down')),
      'never answers': () => new Promise<never>(() => undefined),
    };
    for (const [name, credentialsFor] of Object.entries(broken)) {
      it(`reports a store that ${name} as unavailable`, async () => {
        registry.serve = behind(BASIC, 'Basic realm="x"', has);
        const images = createChecker({ settings: settings(), credentials: { credentialsFor }, clock: hurriedClock });
        expect(await images.check(REGISTRY_TENANT, `${registry.host}/web:1`)).to.deep.equal(storeUnavailable);
      });
    }
  });

  describe('checking an image twice', () => {
    const lab = () => {
      const clock = new ManualClock();
      const images = createChecker({ settings: settings(), clock, credentials: createCredentials(none) });
      return { clock, ask: (tenant = REGISTRY_TENANT) => images.check(tenant, `${registry.host}/web:1`) };
    };

    const holds: ReadonlyArray<readonly [name: string, serve: Serve, ms: number, requests: number]> = [
      ['present', has, 60_000, 1],
      ['absent', lacks, 5_000, 2],
    ];
    for (const [name, serve, ms, requests] of holds) {
      it(`caches that it is ${name} for ${ms / 1000} s`, async () => {
        registry.serve = serve;
        const { clock, ask } = lab();
        const first = await ask();
        await clock.pass(ms - 1);
        expect(await ask()).to.deep.equal(first);
        expect(registry.requests).to.have.lengthOf(requests);
        await clock.pass(1);
        await ask();
        expect(registry.requests).to.have.lengthOf(2 * requests);
      });
    }

    it('checks again when the first result was not conclusive', async () => {
      registry.serve = (_request, response) => answer(response, 500);
      const { ask } = lab();
      await ask();
      registry.serve = has;
      expect(await ask()).to.deep.equal(present);
    });

    it('shares no result between tenants', async () => {
      const { ask } = lab();
      await ask();
      await ask(OTHER_TENANT);
      expect(registry.requests).to.have.lengthOf(2);
    });

    it('sends one request for concurrent checks', async () => {
      const { ask } = lab();
      await Promise.all(Array.from({ length: 20 }, () => ask()));
      expect(registry.requests).to.have.lengthOf(1);
    });
  });

  it('runs four checks of a tenant at a time, and does not delay another tenant', async () => {
    const waiting: ServerResponse[] = [];
    registry.serve = (request, response) => {
      if (request.url?.includes('slow')) waiting.push(response);
      else has(request, response);
    };
    const clock = new ManualClock();
    const images = createChecker({ settings: settings(), clock });
    const slow = Array.from({ length: 7 }, (_, number) =>
      images.check(REGISTRY_TENANT, `${registry.host}/slow/${number}:1`),
    );
    expect(await images.check(OTHER_TENANT, `${registry.host}/web:1`)).to.deep.equal(present);
    await until('four checks to be under way', () => waiting.length >= 4);
    expect(waiting).to.have.lengthOf(4);

    await clock.pass(60_000);
    const outcomes = await Promise.all(slow);
    expect(outcomes.map(({ outcome }) => outcome)).to.deep.equal(slow.map(() => 'unreachable'));
    expect(await images.check(REGISTRY_TENANT, `${registry.host}/web:1`)).to.deep.equal(present);
  });
});
