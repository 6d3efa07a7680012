import { expect } from 'chai';
import fc from 'fast-check';

import { gadgetKind } from '../kind/gadget.testing.js';
import { kinds } from '../kinds/index.js';
import { InvalidSegmentError, buildKey, isWellFormedKey, keys, ranges, splitKey, toStatusKey } from './index.js';

const tenant = fc.uuid();
const anything = fc.oneof(
  fc.string(),
  fc.constantFrom('..', '.', '', 'a/b', '%2f', 'a%2fb', '\u0000', 'wéb', '../x', 'a\\b', '．．'),
);

describe('keys', () => {
  it('[2.2.9] never let a name reach into another tenant', () => {
    fc.assert(
      fc.property(tenant, tenant, anything, (mine, other, name) => {
        fc.pre(mine !== other);
        try {
          expect(keys.deployment(mine, name).startsWith(ranges.of(ranges.deployments, other))).to.equal(false);
          expect(keys.deployment(mine, name).startsWith(ranges.of(ranges.deployments, mine))).to.equal(true);
        } catch (thrown) {
          expect(thrown).to.be.instanceOf(InvalidSegmentError);
        }
      }),
      { numRuns: 10_000 },
    );
  });

  it('keep the range of one tenant apart from a tenant whose name begins alike', () => {
    expect(keys.deployment('t10', 'web').startsWith(ranges.of(ranges.deployments, 't1'))).to.equal(false);
  });

  it('follow from the descriptor of every kind', () => {
    const all: Readonly<Record<string, unknown>> = ranges;
    for (const kind of kinds) if ('range' in kind) expect(all[kind.plural]).to.equal(kind.range);
    expect(keys.secret('t1', 'shop', 'db')).to.equal('secrets/t1/shop/db');
    expect(keys.archive('t1', 'dep_1', 7)).to.equal('archives/t1/dep_1/0000000007');
    expect(buildKey(gadgetKind, 't1', 'first')).to.equal('gadgets/t1/first');
    expect(() => buildKey(gadgetKind, 't1')).to.throw(InvalidSegmentError);
  });

  it('give the status of an object the segments of the object', () => {
    for (const kind of kinds) {
      if (!('statusRange' in kind)) continue;
      expect(toStatusKey(kind, `${kind.range}t1/first`)).to.equal(`${kind.statusRange}t1/first`);
    }
    expect(toStatusKey({ ...gadgetKind, statusRange: 'gadget-status/' }, 'gadgets/t1/first')).to.equal(
      'gadget-status/t1/first',
    );
    expect(() => toStatusKey(gadgetKind, 'gadgets/t1/first'), 'it has none').to.throw(InvalidSegmentError);
  });

  it('are told from those that no function here can have built', () => {
    const sound = [
      keys.deployment('t1', 'web'),
      keys.status('t1', 'web'),
      keys.archive('t1', 'dep_1', 7),
      keys.replica('t1', 'job.batch', 0),
      keys.volumeReport('t1', 'vol_1', 'node_1'),
      keys.secretVersion('t1', 'shop', 'db', 3),
      keys.tenant('t1'),
      keys.leader('scheduler'),
      keys.barrier(),
    ];
    for (const key of sound) {
      expect(isWellFormedKey(key), key).to.equal(true);
      for (const bad of [`${key}/more`, `${key}/`, `${key}/..`, `${key} `, `/${key}`, `${key}\u0000`]) {
        expect(isWellFormedKey(bad), bad).to.equal(false);
      }
    }
    expect(isWellFormedKey('later-range/t1/a/b/c/d'), 'of a later release').to.equal(true);
    expect(isWellFormedKey('later-range/NO NAME')).to.equal(false);
    expect(isWellFormedKey('volumes/t1'), 'too short').to.equal(false);
  });

  it('can be taken apart again', () => {
    expect(splitKey(keys.replica('t1', 'web', 3))).to.deep.equal(['t1', 'web', '3']);
  });
});
