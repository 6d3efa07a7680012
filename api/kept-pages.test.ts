import { expect } from 'chai';

import { KeptPages } from './kept-pages.js';

describe('kept pages', () => {
  const beside = {};
  let made: string[];
  const ask = (pages: KeptPages, place: string, bytes: number, next: unknown = beside) =>
    pages.page(place, next, () => {
      made.push(place);
      return { beside: next, items: Buffer.alloc(bytes), next: undefined };
    });
  beforeEach(() => {
    made = [];
  });

  it('are made once, and anew beside something else', () => {
    const pages = new KeptPages(100);
    ask(pages, 'a', 10);
    ask(pages, 'a', 10);
    expect(made).to.deep.equal(['a']);
    ask(pages, 'a', 10, {});
    expect(made).to.deep.equal(['a', 'a']);
  });

  it('are given up when they are too much together', () => {
    const pages = new KeptPages(100);
    for (const place of ['a', 'b', 'c', 'c', 'b', 'a']) ask(pages, place, 40);
    expect(made, 'c was too much, a and b went; then a was').to.deep.equal(['a', 'b', 'c', 'b', 'a']);
  });

  it('are not kept when one alone is too much, and count no more than they are', () => {
    const pages = new KeptPages(100);
    ask(pages, 'huge', 101);
    ask(pages, 'huge', 101);
    for (let n = 0; n < 20; n++) ask(pages, 'a', 60, {});
    ask(pages, 'b', 40);
    ask(pages, 'b', 40);
    expect(made.filter(place => place === 'huge')).to.have.length(2);
    expect(made.filter(place => place === 'b')).to.have.length(1);
  });
});
