import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import { ManualClock } from '../../../pkg/clock/manual-clock.testing.js';
import { MemoryStore } from '../../../pkg/store/index.js';
import { ApiLab, type LabOptions, webDeployment } from '../../api-lab.testing.js';
import { type TestWatchLine, WatchReader } from '../../watch/watch-reader.testing.js';

const PATH = '/api/v1/events';
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

interface Said {
  readonly type: string;
  readonly subject: { readonly kind: string; readonly name: string; readonly id: string };
}

describe('events', () => {
  let labs: ApiLab[];
  let readers: WatchReader[];
  beforeEach(() => {
    labs = [];
    readers = [];
  });
  afterEach(async () => {
    for (const reader of readers) reader.close();
    for (const each of labs) await each.stop();
  });

  const start = async (options: LabOptions = {}) => {
    const lab = await new ApiLab(options).start();
    labs.push(lab);
    return lab;
  };
  /** A lab with two deployments, each created and changed once. */
  const eventful = async (options: LabOptions = {}) => {
    const lab = await start(options);
    const token = await lab.tenantToken(lab.a);
    for (const name of ['web', 'db']) {
      await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name) });
      await lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body: { replicas: 3 } });
    }
    return { lab, token };
  };
  const scale = (lab: ApiLab, token: string, name: string, replicas: number) =>
    lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body: { replicas } });
  const list = async (lab: ApiLab, token: string, query = '') =>
    (await lab.ask('GET', `${PATH}?${query}`, { token })).body['items'] as readonly Said[];
  const watch = async (lab: ApiLab, token: string, query: string) => {
    const url = `${lab.server.url}${PATH}?watch=true${query}`;
    const reader = await WatchReader.open(url, { authorization: `Bearer ${token}` });
    readers.push(reader);
    return reader;
  };
  const words = ({ type, subject }: Said) => `${type} ${subject.name}`;
  const saidIn = (lines: readonly TestWatchLine[]) =>
    lines.flatMap(({ object }) => (object ? [words(object as unknown as Said)] : []));

  const filters: readonly (readonly [string, readonly string[]])[] = [
    ['type=deployment.created', ['deployment.created db', 'deployment.created web']],
    ['subject=web', ['deployment.created web', 'deployment.updated web']],
    ['subject=Deployment/db', ['deployment.created db', 'deployment.updated db']],
    ['subject=Node/db', []],
    ['type=deployment.updated&subject=web', ['deployment.updated web']],
    ['type=node.ready', []],
  ];
  for (const [query, expected] of filters) {
    it(`are listed and watched as ${query} asks`, async () => {
      const { lab, token } = await eventful();
      const reader = await watch(lab, token, `&${query}`);
      const opening = await reader.take(expected.length + 1);

      expect((await list(lab, token, query)).map(words)).to.have.members(expected);
      expect(saidIn(opening)).to.have.members(expected);
      expect(opening.at(-1)?.type).to.equal('bookmark');
    });
  }

  it('are found by the id of their subject', async () => {
    const { lab, token } = await eventful();
    const [{ subject }] = (await list(lab, token, 'subject=web')) as [Said];

    expect((await list(lab, token, `subject=${subject.id}`)).map(words)).to.deep.equal([
      'deployment.created web',
      'deployment.updated web',
    ]);
  });

  it('resume after any line of a filtered watch, at any server', async () => {
    const { lab, token } = await eventful();
    const reader = await watch(lab, token, '&type=deployment.updated&subject=web');
    const [, { cursor }] = (await reader.take(2)) as [TestWatchLine, TestWatchLine];
    for (const replicas of [4, 5, 6]) {
      await scale(lab, token, 'web', replicas);
      await scale(lab, token, 'db', replicas);
    }
    const lines = await reader.take(3);
    const other = await start({ store: lab.store, keyring: lab.keyring });

    for (const server of [lab, other]) {
      for (const [position, after] of [cursor, ...lines.map(line => line.cursor)].slice(0, 3).entries()) {
        const resumed = await watch(server, token, `&type=deployment.updated&subject=web&after=${after}`);
        const rest = lines.slice(position);
        expect(await resumed.take(rest.length)).to.deep.equal(rest);
      }
    }
  });

  const gone = async (lab: ApiLab, token: string, cursor: string) => {
    const { status, body } = await lab.ask('GET', `${PATH}?watch=true&after=${cursor}`, { token });
    expect([status, body['code']]).to.deep.equal([410, 'watch_expired']);
  };

  it('older than the history of a server are answered with 410', async () => {
    const { lab, token } = await eventful({ settings: { tailBuffer: 20 } });
    const cursor = (await (await watch(lab, token, '')).take(5)).at(-1)!.cursor;
    for (let replicas = 10; replicas < 40; replicas++) await scale(lab, token, 'web', replicas);

    await gone(lab, token, cursor);
    expect(await list(lab, token, 'limit=500')).to.have.length(34);
  });

  it('older than the compacted revision are answered with 410', async () => {
    const store = new MemoryStore({ clock: new ManualClock(), keepRevisions: 10 });
    const { lab, token } = await eventful({ store });
    const cursor = (await (await watch(lab, token, '')).take(5)).at(-1)!.cursor;
    for (let replicas = 10; replicas < 30; replicas++) await scale(lab, token, 'web', replicas);

    await gone(await start({ store, keyring: lab.keyring }), token, cursor);
  });

  for (const [settings, days] of [
    [{}, 7],
    [{ eventRetentionDays: 2 }, 2],
  ] as const) {
    it(`are kept for ${days} days with ${JSON.stringify(settings)}, and no longer than an hour beyond`, async () => {
      const clock = new ManualClock();
      const { lab, token } = await eventful({ store: new MemoryStore({ clock }), settings });
      await clock.pass(days * DAY_MS);
      expect(await list(lab, token)).to.have.length(4);
      await clock.pass(HOUR_MS);
      await lab.cache.barrier();

      expect(await list(lab, token)).to.deep.equal([]);
      expect(await lab.store.get(keys.deployment(lab.a, 'web'))).to.not.equal(undefined);
    });
  }
});
