import { expect } from 'chai';
import sinon from 'sinon';

import { keys, ranges } from '../../../crds/keys/index.js';
import { declareRestore } from '../../../pkg/link/index.js';
import { encode } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';
import { WatchReader } from '../../watch/watch-reader.testing.js';

const PATH = '/api/v1/secrets/resources';
const entry = (label: string) => ({ name: label.toUpperCase(), vault_path: `deployments/${label}`, anchor: 'process' });

interface ReferenceFrame {
  readonly type: string;
  readonly cursor: string;
  readonly object: {
    readonly name: string;
    readonly deployments: readonly string[];
    readonly jobs?: readonly string[];
  } | null;
}

describe('the watch of referenced secrets', () => {
  let lab: ApiLab;
  let token: string;

  beforeEach(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
  });
  afterEach(() => lab.stop());

  const post = (name: string, ...labels: readonly string[]) =>
    lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name, { secrets: labels.map(entry) }) });
  const put = (name: string, ...labels: readonly string[]) =>
    lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body: { secrets: labels.map(entry) } });
  const watch = (query = '') =>
    WatchReader.open(`${lab.server.url}${PATH}?watch=true${query}`, { authorization: `Bearer ${token}` });
  const take = async (reader: WatchReader, count: number) =>
    (await reader.take(count)) as unknown as readonly ReferenceFrame[];
  const show = (frames: readonly ReferenceFrame[]) =>
    frames.map(({ type, object }) => {
      const { name = '', deployments = [], jobs = [] } = object ?? {};
      return [type, name, ...deployments, ...jobs.map(job => `job/${job}`)].join(' ').trim();
    });

  it('begins with the list, and goes on with what each revision changes', async () => {
    await post('web', 'a', 'b');
    const reader = await watch();
    expect(show(await take(reader, 3))).to.deep.equal(['added a web', 'added b web', 'bookmark']);
    await post('worker', 'b');
    await put('web', 'c');
    await post('plain');
    await put('worker', 'c');
    const rest = await take(reader, 6);
    expect(show(rest)).to.deep.equal([
      'modified b web worker',
      'deleted a web',
      'modified b worker',
      'added c web',
      'deleted b worker',
      'modified c web worker',
    ]);
    reader.close();
    const { body } = await lab.ask('GET', PATH, { token });
    expect(body['items']).to.deep.equal([{ name: 'c', path: 'deployments/c', deployments: ['web', 'worker'] }]);
  });

  it('is resumed exactly after every line, also inside a revision and inside the first list', async () => {
    await post('web', 'a', 'b', 'c');
    const reader = await watch();
    const all: ReferenceFrame[] = [...(await take(reader, 2))];
    await put('web', 'b', 'd', 'e');
    await post('worker', 'e');
    all.push(...(await take(reader, 7)));
    reader.close();
    const texts = show(all);
    expect(texts).to.deep.equal([
      'added a web',
      'added b web',
      'added c web',
      'bookmark',
      'deleted a web',
      'deleted c web',
      'added d web',
      'added e web',
      'modified e web worker',
    ]);
    for (const [at, { cursor }] of all.slice(0, -1).entries()) {
      const again = await watch(`&after=${cursor}`);
      expect(show(await take(again, texts.length - at - 1)), `after ${cursor}`).to.deep.equal(texts.slice(at + 1));
      again.close();
    }
  });

  it('shows jobs until they have ended, and is resumed exactly over their ends', async () => {
    const job = {
      kind: 'Job',
      name: 'seed',
      image: 'registry.example.com/shop/seed:1',
      secrets: [entry('b'), entry('c')],
    };
    const end = async () => {
      const { body } = await lab.ask('GET', '/api/v1/jobs/seed', { token });
      const { uid } = body['metadata'] as { readonly uid: string };
      const status = { uid, phase: 'Running', message: '', attempts: 1, history: [] };
      const key = keys.jobStatus(lab.a, 'seed');
      for (const [at, phase] of ['Running', 'Succeeded'].entries()) {
        const revision = at === 0 ? 0 : (await lab.store.get(key))!.revision;
        const bytes = encode({ ...status, phase });
        await lab.store.commit({ guards: [{ key, at: revision }], puts: [{ key, bytes }], deletes: [] });
      }
      await lab.cache.barrier();
    };
    await post('web', 'a', 'b');
    const reader = await watch();
    const all: ReferenceFrame[] = [...(await take(reader, 3))];
    await lab.ask('POST', '/api/v1/jobs', { token, body: job });
    all.push(...(await take(reader, 2)));
    const { body } = await lab.ask('GET', PATH, { token });
    expect(body['items']).to.deep.equal([
      { name: 'a', path: 'deployments/a', deployments: ['web'] },
      { name: 'b', path: 'deployments/b', deployments: ['web'], jobs: ['seed'] },
      { name: 'c', path: 'deployments/c', deployments: [], jobs: ['seed'] },
    ]);
    const listed = (await lab.ask('GET', '/api/v1/secrets', { token })).body['items'] as { jobs?: string[] }[];
    expect(listed.flatMap(({ jobs = [] }) => jobs)).to.deep.equal(['seed', 'seed']);
    await end();
    await put('web', 'a');
    all.push(...(await take(reader, 3)));
    reader.close();
    const texts = show(all);
    expect(texts).to.deep.equal([
      'added a web',
      'added b web',
      'bookmark',
      'modified b web job/seed',
      'added c job/seed',
      'modified b web',
      'deleted c job/seed',
      'deleted b web',
    ]);
    for (const [at, { cursor }] of all.slice(0, -1).entries()) {
      const again = await watch(`&after=${cursor}`);
      expect(show(await take(again, texts.length - at - 1)), `after ${cursor}`).to.deep.equal(texts.slice(at + 1));
      again.close();
    }
  });

  it('does not take a cursor or a revision from before a restore for a place in the restored history', async () => {
    await post('web', 'a');
    const before = await watch();
    const old = (await take(before, 2)).map(({ cursor }) => cursor);
    before.close();
    old.push((await lab.ask('GET', PATH, { token })).body['revision'] as string);
    await declareRestore(lab.store, lab.clock);
    for (const label of ['b', 'c', 'd']) await put('web', label);
    for (const after of old) {
      expect((await lab.ask('GET', `${PATH}?watch=true&after=${after}`, { token })).status, after).to.equal(410);
    }
    const { revision } = (await lab.ask('GET', PATH, { token })).body as { revision: string };
    const reader = await watch(`&after=${revision}`);
    await put('web', 'e');
    expect(show(await take(reader, 2))).to.deep.equal(['deleted d web', 'added e web']);
    reader.close();
  });

  it('of another tenant shows nothing of this one, and a cursor of the future is expired', async () => {
    await post('web', 'a');
    const other = await lab.tenantToken(lab.b);
    const reader = await WatchReader.open(`${lab.server.url}${PATH}?watch=true`, { authorization: `Bearer ${other}` });
    expect(show(await take(reader, 1))).to.deep.equal(['bookmark']);
    reader.close();
    const expired = await lab.ask('GET', `${PATH}?watch=true&after=999999999`, { token });
    expect([expired.status, expired.body['code']]).to.deep.equal([410, 'watch_expired']);
    const wrong = await lab.ask('GET', `${PATH}?watch=true&after=x`, { token });
    expect(wrong.body['code']).to.equal('query_parameter_invalid');
    expect(lab.cache.get(keys.deployment(lab.b, 'web'))).to.equal(undefined);
  });

  it('is resumed in one pass, however many changes were missed', async () => {
    await post('web', 'a');
    const reader = await watch();
    const [, bookmark] = await take(reader, 2);
    reader.close();
    const changed = ['b', 'c', 'd'];
    for (const label of changed) {
      await put('web', label);
      for (const replicas of [2, 3]) await lab.ask('PUT', '/api/v1/deployments/web', { token, body: { replicas } });
    }
    const reads = sinon.spy(lab.cache, 'list');
    const again = await watch(`&after=${bookmark!.cursor}`);
    expect(show(await take(again, 6))).to.deep.equal(
      changed.flatMap((label, at) => [`deleted ${['a', ...changed][at]} web`, `added ${label} web`]),
    );
    again.close();
    const ofTenant = reads.getCalls().filter(({ args }) => args[0] === ranges.of(ranges.deployments, lab.a));
    reads.restore();
    expect(ofTenant.length).to.be.at.most(4);
  });
});
