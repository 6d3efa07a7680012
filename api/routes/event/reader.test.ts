import { expect } from 'chai';

import type { StoredEvent } from '../../../crds/event/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import { ManualClock } from '../../../pkg/clock/manual-clock.testing.js';
import { encode, MemoryStore, replace, value } from '../../../pkg/store/index.js';
import { ApiLab, type LabOptions, webDeployment } from '../../api-lab.testing.js';
import { type TestWatchLine, WatchReader } from '../../watch/watch-reader.testing.js';

const PATH = '/api/v1/events';
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

interface EventText {
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
    (await lab.ask('GET', `${PATH}?${query}`, { token })).body['items'] as readonly EventText[];
  const watch = async (lab: ApiLab, token: string, query: string) => {
    const url = `${lab.server.url}${PATH}?watch=true${query}`;
    const reader = await WatchReader.open(url, { authorization: `Bearer ${token}` });
    readers.push(reader);
    return reader;
  };
  const words = ({ type, subject }: EventText) => `${type} ${subject.name}`;
  const saidIn = (lines: readonly TestWatchLine[]) =>
    lines.flatMap(({ object }) => (object ? [words(object as unknown as EventText)] : []));

  const filters: readonly (readonly [string, readonly string[]])[] = [
    ['type=deployment.created', ['deployment.created db', 'deployment.created web']],
    ['subject=web', ['deployment.created web', 'deployment.updated web']],
    ['subject=Deployment/db', ['deployment.created db', 'deployment.updated db']],
    ['subject=Node/db', []],
    ['type=deployment.updated&subject=web', ['deployment.updated web']],
    ['type=node.ready', []],
  ];
  for (const [query, expected] of filters) {
    it(`[6.4] are listed and watched as ${query} asks`, async () => {
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
    const [{ subject }] = (await list(lab, token, 'subject=web')) as [EventText];

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

  /** Stores events beside the API, as a loop would. */
  const write = async (lab: ApiLab, count: number, more: Partial<StoredEvent> = {}) => {
    const event = (id: string) => ({ id, type: 'node.ready', tenant: lab.a, count: 1, data: {}, ...more });
    const puts = Array.from({ length: count }, (_, at) => `evt_${String(at).padStart(5, '0')}`).map(id => ({
      key: keys.event(lab.a, id),
      bytes: encode({ ...event(id), subject: { kind: 'Node', name: `n${Number(id.slice(4)) % 10}`, id } }),
    }));
    for (let at = 0; at < count; at += 100) {
      const some = puts.slice(at, at + 100);
      await lab.store.commit({ guards: some.map(({ key }) => ({ key, at: 0 })), puts: some, deletes: [] });
    }
  };

  it('are listed from the store page by page, also those that a filter selects, and none is cached', async () => {
    const lab = await start();
    const token = await lab.tenantToken(lab.a);
    await write(lab, 1_200);
    const pages: number[] = [];
    const ids = new Set<string>();
    for (let next = ''; pages.length < 10; ) {
      const { body } = await lab.ask('GET', `${PATH}?subject=n3&limit=50${next}`, { token });
      const items = body['items'] as readonly { id: string }[];
      pages.push(items.length);
      for (const { id } of items) ids.add(id);
      if (body['next'] === null) break;
      next = `&continue=${body['next'] as string}`;
    }

    expect(pages).to.deep.equal([50, 50, 20]);
    expect(ids.size).to.equal(120);
    expect(lab.cache.list(ranges.events)).to.deep.equal([]);
    for (const query of ['limit=0', 'continue=!', 'after=x']) {
      expect((await lab.ask('GET', `${PATH}?${query}`, { token })).status, query).to.equal(400);
    }
  });

  it('begin a watch with all of them, read page by page, and resume inside', async () => {
    const lab = await start();
    const token = await lab.tenantToken(lab.a);
    await write(lab, 700);
    const reader = await watch(lab, token, '');
    const lines = await reader.take(701);
    await scale(lab, token, 'none', 1);
    const resumed = await (await watch(lab, token, `&after=${encodeURIComponent(lines[449]!.cursor)}`)).take(251);

    expect(lines.map(({ type }) => type)).to.deep.equal([...Array.from({ length: 700 }, () => 'added'), 'bookmark']);
    expect(resumed).to.deep.equal(lines.slice(450));
  });

  it('that are counted up are told as modified', async () => {
    const lab = await start();
    const token = await lab.tenantToken(lab.a);
    const reader = await watch(lab, token, '');
    await reader.take(1);
    await write(lab, 1);
    const key = keys.event(lab.a, 'evt_00000');
    const stored = (await lab.store.get(key))!;
    await replace(lab.store, stored, { ...value<StoredEvent>(stored), count: 2 });

    expect((await reader.take(2)).map(({ type }) => type)).to.deep.equal(['added', 'modified']);
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
