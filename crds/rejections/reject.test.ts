import { expect } from 'chai';
import fc from 'fast-check';

import { FieldPath } from '../grammar/index.js';
import {
  catalogue,
  describeValue as described,
  getEntry,
  isRejectionCode,
  reject,
  toRejectionAnswer,
  withFix,
} from './index.js';

const at = FieldPath.root.child('replicas');

describe('a rejection', () => {
  it('[2.1.1 2.1.4 2.1.5] carries the record of the specification', () => {
    const rejection = reject('replicas_out_of_range', at, 101, { max: 100 });
    expect(rejection).to.deep.equal({
      code: 'replicas_out_of_range',
      status: 422,
      field: 'replicas',
      received: '101',
      expected: 'an integer from 0 to 100',
      why: getEntry('replicas_out_of_range').why,
      doc: '/docs/codes/replicas_out_of_range',
    });
  });

  it('says a quota in the singular where it is 1', () => {
    const find = (kind: string, limit: number) => reject('quota_reached', at, 't', { kind, limit }).expected;
    expect(find('nodes', 1)).to.equal('at most 1 node of this tenant');
    expect(find('nodes', 0)).to.equal('at most 0 nodes of this tenant');
    expect(find('bytes of backups', 1)).to.equal('at most 1 byte of backups of this tenant');
  });

  const received: ReadonlyArray<[value: unknown, text: string]> = [
    ['web', 'web'],
    ['', ''],
    [undefined, 'nothing'],
    [null, 'null'],
    [5, '5'],
    [true, 'true'],
    [['a', 1], '["a",1]'],
    [{ a: { b: [] } }, '{"a":{"b":[]}}'],
    ['x'.repeat(256), 'x'.repeat(256)],
    ['x'.repeat(257), `${'x'.repeat(255)}…`],
  ];
  for (const [value, text] of received) {
    it(`quotes ${JSON.stringify(value)?.slice(0, 30)}`, () => {
      expect(reject('image_required', at, value).received).to.equal(text);
    });
  }

  const redacted: ReadonlyArray<[value: unknown, text: string]> = [
    ['hunter2', '[redacted, string of 7 bytes]'],
    ['pässword', '[redacted, string of 9 bytes]'],
    [['a', 'b'], '[redacted, list of 2 entries]'],
    ['x', '[redacted, string of 1 byte]'],
    ['', '[redacted, string of 0 bytes]'],
    [['a'], '[redacted, list of 1 entry]'],
    [[], '[redacted, list of 0 entries]'],
    [{ a: 1 }, '[redacted, object of 1 entry]'],
    [{ a: 1, b: 2 }, '[redacted, object of 2 entries]'],
    [5, '[redacted, number]'],
    [undefined, 'nothing'],
    [null, 'null'],
  ];
  for (const [value, text] of redacted) {
    it(`describes ${JSON.stringify(value)} where it may be a credential`, () => {
      const params = { name: 'web' };
      expect(reject('plaintext_credential_in_environment', at, value, params).received).to.equal(text);
      expect(described(value)).to.equal(text);
    });
  }

  it('quotes at most 256 characters of anything, whole characters only', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600, minLength: 200 }), value => {
        const text = reject('image_required', at, value).received;
        expect(text.length).to.be.at.most(256);
        // Half a character cannot be encoded.
        expect(() => encodeURIComponent(text)).not.to.throw();
        expect(reject('image_required', at, [value]).received.length).to.be.at.most(256);
      }),
      { numRuns: 1000 },
    );
  });

  it('[2.1.3] is the JSON of a value that fits', () => {
    const short = fc.jsonValue({ maxDepth: 2 }).filter(value => JSON.stringify(value).length <= 200);
    fc.assert(
      fc.property(short, value => {
        if (typeof value === 'string') return;
        expect(reject('image_required', at, value).received).to.equal(JSON.stringify(value));
      }),
      { numRuns: 1000 },
    );
  });

  it('has a status of its own for each cause of node_candidates_unresolvable', () => {
    expect(reject('node_candidates_unresolvable', at, 'x', { nodes: 'none' }).status).to.equal(422);
    expect(reject('node_candidates_unresolvable', at, 'x', { nodes: 'unreadable' }).status).to.equal(503);
  });
});

describe('the answer to a rejected request', () => {
  const first = reject('name_required', FieldPath.root.child('name'), undefined);
  const second = withFix(reject('image_required', FieldPath.root.child('image'), 'x'), {
    op: 'remove',
    path: '/image',
  });
  const { status, body } = toRejectionAnswer([first, second], 'https://moor.example.com');

  it('is the first rejection, and the list of all', () => {
    expect(status).to.equal(422);
    expect(body.code).to.equal('name_required');
    expect(body.doc).to.equal('https://moor.example.com/docs/codes/name_required');
    expect(body.rejections.map(({ code }) => code)).to.deep.equal(['name_required', 'image_required']);
    expect(body.rejections[1]?.fix).to.deep.equal([{ op: 'remove', path: '/image' }]);
  });

  it('does not contain the status', () => {
    expect(body).not.to.have.property('status');
    expect(body.rejections[0]).not.to.have.property('status');
  });
});

describe('the catalogue', () => {
  it('knows its own codes and nothing that every object has', () => {
    expect(isRejectionCode('name_required')).to.equal(true);
    for (const text of ['toString', '__proto__', 'constructor', '']) expect(isRejectionCode(text)).to.equal(false);
  });

  for (const [code, row] of Object.entries(catalogue)) {
    it(`has a complete row for ${code}`, () => {
      expect(code).to.match(/^[a-z]+(?:_[a-z]+)+$/);
      for (const sentence of [row.why, row.remedy]) {
        expect(sentence).to.match(/^[A-Z].*\.$/);
        expect(sentence).not.to.contain('!');
      }
      expect(JSON.stringify(row.example)).not.to.equal(JSON.stringify(isWithoutFix(code) ? null : row.fixed));
    });
  }
});

/** The one request that needs no change: the platform was at fault. */
function isWithoutFix(code: string): boolean {
  return code === 'registry_credential_store_unavailable';
}
