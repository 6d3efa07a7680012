import { expect } from 'chai';
import fc from 'fast-check';

import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { PageCache } from './listing.js';

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
