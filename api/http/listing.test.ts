import { expect } from 'chai';
import fc from 'fast-check';

import { CompactedFault, Entry, type PageOptions, type Store } from '../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { listPage, PageCache, readStoredSource } from './listing.js';
import type { WholeReply } from './reply.js';
import type { ApiCall } from './route.js';

interface Page {
  readonly items: readonly { readonly name: string }[];
  readonly revision: string;
  readonly next: string | null;
}

describe('lists', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    for (let number = 0; number < 25; number++) {
      const name = `n${String((number * 7) % 25).padStart(2, '0')}`;
      await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name) });
    }
  });
  after(() => lab.stop());

  const page = async (query: string) =>
    (await lab.ask('GET', `/api/v1/deployments?${query}`, { token })).body as unknown as Page;
  const all = async (limit: number) => {
    const names: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const { items, next: following }: Page = await page(`limit=${limit}${next === '' ? '' : `&continue=${next}`}`);
      names.push(...items.map(({ name }) => name));
      next = following;
    }
    return names;
  };

  it('are the same in pages of any size, in the order of names', async () => {
    const expected = Array.from({ length: 25 }, (_, number) => `n${String(number).padStart(2, '0')}`);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 30 }), async limit => {
        expect(await all(limit)).to.deep.equal(expected);
      }),
      { numRuns: 15 },
    );
  });

  it('continue at the right place although objects were created and deleted meanwhile', async () => {
    const { next } = await page('limit=10');
    await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment('n00a') });
    await lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment('n10a') });
    const { items } = await page(`limit=3&continue=${next}`);

    expect(items.map(({ name }) => name)).to.deep.equal(['n10', 'n10a', 'n11']);
  });

  it('say the revision that a watch may begin after', async () => {
    const { revision } = await page('limit=1');

    expect(Number(revision)).to.be.at.least(25);
    expect(revision).to.be.a('string');
  });

  it('filter events by type and by subject', async () => {
    const events = async (query: string) =>
      (await lab.ask('GET', `/api/v1/events?${query}`, { token })).body['items'] as { subject: { name: string } }[];

    expect((await events('subject=n03')).map(({ subject }) => subject.name)).to.deep.equal(['n03']);
    expect(await events('subject=Deployment/n03&type=deployment.created')).to.have.length(1);
    expect(await events('type=node.ready')).to.deep.equal([]);
    expect((await events('type=deployment.created&limit=500')).length).to.be.at.least(25);
  });

  it('are built from cached bytes when they have many objects', async () => {
    const first = await lab.ask('GET', '/api/v1/deployments?limit=500', { token });
    const again = await lab.ask('GET', '/api/v1/deployments?limit=500', { token });
    await lab.ask('PUT', '/api/v1/deployments/n05', { token, body: { replicas: 9 } });
    const changed = await lab.ask('GET', '/api/v1/deployments?limit=500', { token });

    expect(again.text).to.equal(first.text);
    const items = changed.body['items'] as { name: string; replicas: number }[];
    expect(items.find(({ name }) => name === 'n05')?.replicas).to.equal(9);
  });
});

describe('lists that are read from the store', () => {
  const PREFIX = 'events/t/';

  /** A store with so many events of so many bytes. Every read after the first finds its revision compacted. */
  const openStore = (count: number, bytes: number) => {
    const entries = Array.from({ length: count }, (_, n) => {
      const key = PREFIX + String(n).padStart(6, '0');
      return new Entry(key, Buffer.from(JSON.stringify({ n, pad: 'x'.repeat(bytes) })), n);
    });
    const reads: number[] = [];
    const page = async (_: string, { after = '', limit, at }: PageOptions) => {
      if (at !== undefined) throw new CompactedFault(at);
      const rest = entries.filter(({ key }) => key > after);
      reads.push(rest.length);
      return { entries: rest.slice(0, limit), more: rest.length > limit, revision: 1_000 + reads.length };
    };
    return { store: { page } as unknown as Store, reads };
  };
  const readAll = async (store: Store, wants?: (entry: Entry) => boolean) => {
    const resource = { range: 'events/', view: ({ bytes }: Entry) => bytes };
    const pages: { items: { n: number }[]; revision: string; next: string | null }[] = [];
    do {
      const next = pages.at(-1)?.next;
      const call = { query: new Map([['limit', '500'], ...(next ? [['continue', next] as const] : [])]) };
      const source = await readStoredSource(store, resource, PREFIX, call as unknown as ApiCall, wants);
      const { body } = listPage(call as unknown as ApiCall, source as never) as WholeReply;
      pages.push(JSON.parse(Buffer.concat([body].flat()).toString()) as (typeof pages)[number]);
    } while (pages.at(-1)!.next !== null);
    return pages;
  };

  it('go on behind a page that ended early because of its size', async () => {
    const pages = await readAll(openStore(1_000, 17_000).store);
    expect(pages.flatMap(({ items }) => items.map(({ n }) => n))).to.deep.equal([...Array(1_000).keys()]);
    expect(pages.length).to.be.greaterThan(1);
  });

  it('carry the revision of the first read, also when it was compacted meanwhile', async () => {
    const [page] = await readAll(openStore(1_200, 10).store, ({ revision }) => revision % 10 === 0);
    expect(page!.revision).to.equal('1001');
  });

  it('are read in bounded steps although nothing matches', async () => {
    const { store, reads } = openStore(10_000, 10);
    const pages = await readAll(store, ({ revision }) => revision === 9_000);
    expect(pages.flatMap(({ items }) => items)).to.have.length(1);
    expect(pages).to.have.length(5);
    expect(reads).to.have.length(20);
  });
});

describe('the page cache', () => {
  const beside = {};
  let made: string[];
  const ask = (pages: PageCache, place: string, bytes: number, next: unknown = beside) =>
    pages.page(place, next, () => {
      made.push(place);
      return { joinedEntries: next, items: Buffer.alloc(bytes), next: undefined };
    });
  beforeEach(() => {
    made = [];
  });

  it('builds a page once, and again when its joined entries change', () => {
    const pages = new PageCache(100);
    ask(pages, 'a', 10);
    ask(pages, 'a', 10);
    expect(made).to.deep.equal(['a']);
    ask(pages, 'a', 10, {});
    expect(made).to.deep.equal(['a', 'a']);
  });

  it('drops all pages when they exceed the limit together', () => {
    const pages = new PageCache(100);
    for (const place of ['a', 'b', 'c', 'c', 'b', 'a']) ask(pages, place, 40);
    expect(made, 'c was too much, a and b went; then a was').to.deep.equal(['a', 'b', 'c', 'b', 'a']);
  });

  it('does not keep a page that exceeds the limit alone, and does not count it', () => {
    const pages = new PageCache(100);
    ask(pages, 'huge', 101);
    ask(pages, 'huge', 101);
    for (let n = 0; n < 20; n++) ask(pages, 'a', 60, {});
    ask(pages, 'b', 40);
    ask(pages, 'b', 40);
    expect(made.filter(place => place === 'huge')).to.have.length(2);
    expect(made.filter(place => place === 'b')).to.have.length(1);
  });
});
