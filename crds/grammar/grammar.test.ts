import { randomBytes } from 'node:crypto';

import { expect } from 'chai';
import fc from 'fast-check';

import { assertLinearCost } from '../../dev/testing/index.js';
import {
  parseCpu,
  FieldPath,
  isDnsLabel,
  isDnsLabelText,
  isLabelKey,
  isLabelValue,
  isSameSpelling,
  isTypedId,
  parseMemory,
  parsePortRange,
  findNearestName,
  parseDuration,
  createTypedId,
} from './index.js';

function table<Given, Result>(
  name: string,
  read: (given: Given) => Result,
  rows: ReadonlyArray<[Given, Result]>,
): void {
  describe(name, () => {
    for (const [given, result] of rows) {
      it(`${JSON.stringify(given)?.slice(0, 40)} → ${JSON.stringify(result)}`, () => {
        expect(read(given)).to.deep.equal(result);
      });
    }
  });
}

table<string, boolean>('DNS label', isDnsLabel, [
  ['a', true],
  ['web', true],
  ['web-1', true],
  ['a'.repeat(63), true],
  ['a'.repeat(64), false],
  ['', false],
  ['1web', false],
  ['-web', false],
  ['web-', false],
  ['Web', false],
  ['web_1', false],
  ['web.1', false],
  ['wéb', false],
  ['web\n', false],
  ['web/..', false],
]);

table<string, number | undefined>('duration', parseDuration, [
  ['10s', 10_000],
  ['1m30s', 90_000],
  ['1.5h', 5_400_000],
  ['250ms', 250],
  ['1us', 0.001],
  ['0s', 0],
  ['', undefined],
  ['10', undefined],
  ['10 s', undefined],
  ['-10s', undefined],
  ['10s; rm', undefined],
  ['1h-5m', undefined],
  ['10s10', undefined],
  ['10S', undefined],
  ['ten seconds', undefined],
  ['1d', undefined],
  ['1e3s', undefined],
  ['.5s', undefined],
  ['9'.repeat(100), undefined],
  ['1s'.repeat(1000), undefined],
]);

table<string, number | undefined>('cpu', parseCpu, [
  ['500m', 500],
  ['1', 1000],
  ['1.5', 1500],
  ['0.25', 250],
  ['0', 0],
  ['', undefined],
  ['.5', undefined],
  ['-1', undefined],
  ['1.2345', undefined],
  ['500M', undefined],
  ['half', undefined],
  ['1 ', undefined],
  ['99999999m', undefined],
]);

table<string, number | undefined>('memory', parseMemory, [
  ['256Mi', 268_435_456],
  ['1Gi', 1_073_741_824],
  ['1G', 1e9],
  ['1024', 1024],
  ['64k', 64_000],
  ['0Mi', 0],
  ['1.5Gi', undefined],
  ['256MB', undefined],
  ['256mi', undefined],
  ['-1Mi', undefined],
  ['', undefined],
  ['9007199254740993', undefined],
  ['9999999999Ti', undefined],
]);

table<string, boolean>('label key', isLabelKey, [
  ['team', true],
  ['example.com/team', true],
  ['a.b_c-d', true],
  ['a'.repeat(63), true],
  ['a'.repeat(64), false],
  ['', false],
  ['/team', false],
  ['example.com/', false],
  ['a/b/c', false],
  ['Example.com/team', false],
  ['team name', false],
  ['-team', false],
  ['team\n', false],
  [`${'a.'.repeat(127)}a/b`, false],
]);

table<string, boolean>('label value', isLabelValue, [
  ['', true],
  ['shop', true],
  ['1.2.3', true],
  ['a'.repeat(64), false],
  ['a b', false],
  ['a\n', false],
]);

const known = ['replicas', 'image', 'healthCheck', 'environment', 'nodeId'];
table<string, string | undefined>('nearest name', given => findNearestName(given, known), [
  ['replcas', 'replicas'],
  ['health_check', 'healthCheck'],
  ['healthcheck', 'healthCheck'],
  ['Image', 'image'],
  ['img', undefined],
  ['env', undefined],
  ['zzz', undefined],
  ['', undefined],
  ['r'.repeat(1e6), undefined],
]);

describe('same spelling', () => {
  it('looks past case and separators, and no further', () => {
    expect(isSameSpelling('health-Check', 'healthCheck')).to.equal(true);
    expect(isSameSpelling('heathCheck', 'healthCheck')).to.equal(false);
  });
});

describe('field path', () => {
  it('prints names and positions as the specification does', () => {
    expect(FieldPath.root.child('ports').index(0).child('hostPort').toString()).to.equal('ports[0].hostPort');
    expect(FieldPath.root.toString()).to.equal('');
  });

  it('cuts a part that a client made too long', () => {
    expect(FieldPath.root.child('x'.repeat(1e6)).toString().length).to.be.below(200);
  });

  it('is the same place after a way through a pointer', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 5 }), names => {
        const path = names.reduce((at, name) => at.child(name), FieldPath.root);
        expect(FieldPath.ofPointer(path.toPointer(), {}).parts).to.deep.equal(names);
      }),
    );
  });

  it('tells positions in a list from names in a map', () => {
    const document = { list: [{ a: 1 }], map: { 0: { a: 1 } } };
    expect(FieldPath.ofPointer('/list/0/a', document).toString()).to.equal('list[0].a');
    expect(FieldPath.ofPointer('/map/0/a', document).toString()).to.equal('map.0.a');
  });
});

describe('typed id', () => {
  it('has the form that it is known by', () => {
    const id = createTypedId('node', randomBytes);
    expect(isTypedId('node', id)).to.equal(true);
    expect(isTypedId('dep', id)).to.equal(false);
    expect(id).to.match(/^node_[0-9a-z]{26}$/);
  });

  it('is made from the bytes it is given, and from all of them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.nat(15), (bytes, position) => {
        const other = Uint8Array.from(bytes, (byte, i) => (i === position ? byte ^ 1 : byte));
        expect(createTypedId('dep', () => bytes)).to.equal(createTypedId('dep', () => bytes));
        expect(createTypedId('dep', () => bytes)).not.to.equal(createTypedId('dep', () => other));
      }),
    );
  });

  for (const text of [
    'node_',
    'node_short',
    `node_${'u'.repeat(26)}`,
    `NODE_${'0'.repeat(26)}`,
    `node_${'0'.repeat(26)}\n`,
  ]) {
    it(`does not take ${JSON.stringify(text)} for one`, () => {
      expect(isTypedId('node', text)).to.equal(false);
    });
  }
});

describe('cost of reading hostile text', () => {
  const units = ['a', 'a-', '-', '1', '1s', '.'];
  const readers = { isDnsLabelText, parseDuration, parseCpu, parseMemory, parsePortRange, isLabelKey, isLabelValue };
  for (const [name, read] of Object.entries(readers)) {
    it(`takes time in proportion to the text for ${name}`, async () => {
      for (const unit of units) {
        const prepare = (size: number) => `${unit.repeat(size / unit.length)}!`;
        await assertLinearCost<string>({ size: 200_000, prepare, run: read });
      }
    });
  }
});
