import { expect } from 'chai';
import fc from 'fast-check';

import { LineTooLongFault, readDocuments, readLines } from './index.js';

async function* chunked(text: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let from = 0;
  for (let turn = 0; from < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield text.subarray(from, from + size);
    from += size;
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('readLines', () => {
  it('yields the same lines however the bytes are split', async () => {
    const cut = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' })), cut, async (words, sizes) => {
        const sent = words.map(word => JSON.stringify(word));
        const text = Buffer.from(sent.map(line => `${line}\n`).join(''));

        expect(await all(readLines(chunked(text, sizes)))).to.deep.equal(sent);
        expect(await all(readDocuments(chunked(text, sizes)))).to.deep.equal(words);
      }),
    );
  });

  it('drops an incomplete last line', async () => {
    const text = Buffer.from('{"a":1}\n{"b":');

    expect(await all(readDocuments(chunked(text, [4])))).to.deep.equal([{ a: 1 }]);
  });

  it('refuses a line above the limit', async () => {
    const received = all(readLines(chunked(Buffer.alloc(100, 'x'), [10]), 50));

    expect(
      await received.then(
        () => undefined,
        (thrown: unknown) => thrown,
      ),
    ).to.be.instanceOf(LineTooLongFault);
  });
});
