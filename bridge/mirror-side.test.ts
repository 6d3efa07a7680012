import type { KubeConfig } from '@kubernetes/client-node';
import { expect } from 'chai';

import { FakeKubernetes, StatusError, type StoredObject } from '../dev/kubernetes/index.js';
import { until } from '../dev/testing/index.js';
import { systemClock } from '../pkg/clock/index.js';
import { MirrorSide, OvertakenFault, SideUnreadableFault } from './mirror-side.js';

const PATH = '/apis/mooring.io/v1/namespaces/team/deployments';

describe('one side of the bridge', () => {
  let cluster: FakeKubernetes;
  let side: MirrorSide;
  let config: KubeConfig;
  beforeEach(async () => {
    const client = await import('@kubernetes/client-node');
    cluster = await new FakeKubernetes({ token: 'right' }).start();
    config = new client.KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'x', server: cluster.url, skipTLSVerify: true },
      { name: 'x', token: 'right' },
    );
    side = new MirrorSide(config, client);
  });
  afterEach(() => cluster.stop());

  const thrownBy = async (work: Promise<unknown>) => {
    try {
      await work;
    } catch (thrown) {
      return thrown;
    }
    return undefined;
  };

  it('says that there is nothing only when it was told so of that name', async () => {
    expect(await side.find(PATH, 'web')).to.equal(undefined);
    const answers: readonly (readonly [number, unknown])[] = [
      [404, { kind: 'Status', reason: 'NotFound', details: { name: 'other' } }],
      [404, { kind: 'Status', reason: 'NotFound', details: { name: 'web', kind: 'namespaces' } }],
      [404, '404 page not found'],
      [200, '<html>Back soon</html>'],
      [200, null],
      [200, { metadata: { name: 'web' } }],
      [200, { metadata: { name: 'other', uid: 'u' } }],
      [403, { kind: 'Status', reason: 'Forbidden' }],
      [200, undefined],
    ];
    for (const [status, body] of answers) {
      cluster.intercept = () => response => {
        response.writeHead(status);
        if (body === undefined) response.destroy();
        else response.end(typeof body === 'string' ? body : JSON.stringify(body));
      };
      expect(await thrownBy(side.find(PATH, 'web')), `${status} ${JSON.stringify(body)}`).to.be.instanceOf(
        SideUnreadableFault,
      );
    }
    cluster.intercept = () => 'cut';
    expect(await thrownBy(side.find(PATH, 'web'))).to.be.instanceOf(SideUnreadableFault);
  });

  it('tells refusals from conflicts and from sides that do not answer', async () => {
    const body = { metadata: { name: 'web' } };
    expect(await side.request('POST', PATH, body)).to.include({ ok: true });
    expect(await thrownBy(side.request('POST', PATH, body))).to.be.instanceOf(OvertakenFault);
    cluster.intercept = () => {
      throw new StatusError(422, 'Invalid', 'no');
    };
    expect(await side.request('POST', PATH, body)).to.include({ ok: false, reason: 'Invalid' });
    cluster.intercept = () => {
      throw new StatusError(429, 'TooManyRequests', 'later');
    };
    expect(await thrownBy(side.request('POST', PATH, body))).to.be.instanceOf(SideUnreadableFault);
    cluster.intercept = () => response => response.end('<html>Log in</html>');
    expect(await thrownBy(side.request('POST', PATH, body))).to.be.instanceOf(SideUnreadableFault);
  });

  it('reads a list to its end', async () => {
    const seen: string[] = [];
    const stop = new AbortController();
    cluster.intercept = ({ query }) => {
      if (query.get('watch') === 'true') return undefined;
      const isNext = query.get('continue') === 'here';
      const items = [{ metadata: { name: isNext ? 'b' : 'a' } }];
      const metadata = { resourceVersion: '100', ...(!isNext && { continue: 'here' }) };
      return response => response.end(JSON.stringify({ kind: 'List', metadata, items }));
    };
    const tell = ({ metadata }: StoredObject) => seen.push(metadata.name);
    const following = side.follow(PATH, 1, tell, { clock: systemClock, signal: stop.signal });
    await until('both pages', () => seen.length === 2);
    stop.abort();
    await following;
    expect(seen).to.deep.equal(['a', 'b']);
  });

  it('does not wait for credentials for ever', async () => {
    config.applyToHTTPSOptions = () => new Promise(() => undefined);
    const hurried = new MirrorSide(config, await import('@kubernetes/client-node'), 20);
    expect(await thrownBy(hurried.find(PATH, 'web'))).to.be.instanceOf(SideUnreadableFault);
  });

  it('does not die when the credentials for a watch cannot be had', async () => {
    config.applyToFetchOptions = () => Promise.reject(new Error('the plugin failed'));
    const env = { clock: systemClock, signal: new AbortController().signal };
    const thrown = await thrownBy(side.follow(PATH, 1, () => undefined, env));
    expect(thrown).to.be.instanceOf(Error).with.property('message', 'the plugin failed');
  });

  it('follows a list, and ends when it is told to, also where the watch was never answered', async () => {
    const seen: string[] = [];
    const stop = new AbortController();
    const tell = ({ metadata }: StoredObject) => seen.push(metadata.name);
    const follow = () => side.follow(PATH, 600, tell, { clock: systemClock, signal: stop.signal });
    await side.request('POST', PATH, { metadata: { name: 'a' } });
    const following = follow();
    await until('the list', () => seen.length === 1);
    await side.request('POST', PATH, { metadata: { name: 'b' } });
    await until('the change', () => seen.length === 2);

    let isAsked = false;
    cluster.intercept = ({ query }) => {
      if (query.get('watch') !== 'true') return undefined;
      isAsked = true;
      return () => undefined;
    };
    const hanging = follow();
    await until('the watch', () => isAsked);
    stop.abort();
    await Promise.all([following, hanging]);
    expect(seen).to.deep.equal(['a', 'b', 'a', 'b']);
  });
});
