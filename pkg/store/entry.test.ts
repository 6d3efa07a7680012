import { expect } from 'chai';

import { encode } from './documents.js';
import { Entry } from './entry.js';

const KEY = 'deployments/t1/web';

describe('an entry', () => {
  it('is parsed once, for all who ask', () => {
    const entry = new Entry(KEY, Buffer.from('{"a":1}'), 7);
    expect(entry.document).to.deep.include({ a: 1 });
    expect(entry.document).to.equal(entry.document);
    expect(entry).to.include({ revision: 7, created: 7 });
  });

  for (const [what, bytes, fault] of [
    ['is not JSON', Buffer.from('{'), 'it is not JSON'],
    ['is no deployment', encode('web'), 'the document is not an object'],
  ] as const) {
    it(`whose record ${what} says so, and has a substitute`, () => {
      expect(new Entry(KEY, bytes).fault).to.equal(fault);
      expect(new Entry(KEY, bytes).document).to.include({ name: 'web' });
    });
  }

  it('says the same of its record whether the document was read before or after', () => {
    const entry = new Entry('tokens/x', encode({}));
    const { fault } = new Entry('tokens/x', encode({}));
    expect(fault).to.be.a('string');
    expect(entry.document).to.be.an('object');
    expect(entry.fault).to.equal(fault);
  });

  it('with other bytes has the document of those', () => {
    const entry = new Entry('other/a', encode({ n: 1 }), 9, 4);
    expect(entry.document).to.deep.equal({ n: 1 });
    const changed = entry.withBytes(encode({ n: 2 }));
    expect(changed.document).to.deep.equal({ n: 2 });
    expect(changed).to.include({ key: 'other/a', revision: 9, created: 4 });
  });
});
