import { expect } from 'chai';
import fc from 'fast-check';

import { alphabets, type Charset, defaultSecretLimits, type Encoding, toGeneration } from '../../crds/secret/index.js';
import { type Random, seededRandom, systemRandom } from '../clock/index.js';
import { generateDocument, revealDocument } from './document.js';

const charsets = Object.keys(alphabets) as Charset[];
const encodings: readonly Encoding[] = ['hex', 'base64', 'base64url'];
const one = (generation: Parameters<typeof generateDocument>[0], random: Random = systemRandom) =>
  revealDocument(generateDocument(generation, random))['key']!;
const keys = ['key'];

/** Pearson's statistic for how far counts are from even. */
const unevenness = (counts: readonly number[]) => {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
};

/** A value that an even draw exceeds once in tens of millions: mean and eight deviations of chi-squared. */
const limitFor = (cells: number) => cells - 1 + 8 * Math.sqrt(2 * (cells - 1));

/** The entropy of a value that was generated, by what it is made of. */
const measureBits = (generation: Parameters<typeof generateDocument>[0]) => {
  const value = one(generation);
  return generation.by === 'bytes'
    ? Buffer.from(value, generation.encoding).length * 8
    : value.length * Math.log2(alphabets[generation.charset].length);
};

describe('generated secrets', () => {
  it('[2.5.9] have the requested length, in characters of the alphabet', () => {
    fc.assert(
      fc.property(fc.constantFrom(...charsets), fc.integer({ min: 1, max: 4096 }), (charset, length) => {
        const value = one({ keys, by: 'characters', length, charset });
        expect(value).to.have.length(length);
        expect(value.split('').every(character => alphabets[charset].includes(character))).to.equal(true);
      }),
    );
  });

  it('[2.5.5] hold exactly the bytes that were drawn, in every encoding', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...encodings),
        fc.integer({ min: 16, max: 3072 }),
        fc.nat(),
        (encoding, bytes, seed) => {
          const value = one({ keys, by: 'bytes', bytes, encoding }, seededRandom(seed));
          expect(Buffer.from(value, encoding).equals(seededRandom(seed).bytes(bytes))).to.equal(true);
          if (encoding === 'base64url') expect(value).to.match(/^[A-Za-z0-9_-]+$/);
        },
      ),
    );
  });

  for (const charset of charsets) {
    it(`draw every character of ${charset} equally often`, () => {
      const alphabet = alphabets[charset];
      const counts = new Map(alphabet.split('').map(character => [character, 0]));
      for (let n = 0; n < 50; n++) {
        for (const character of one({ keys, by: 'characters', length: 4096, charset })) {
          counts.set(character, counts.get(character)! + 1);
        }
      }
      expect(unevenness([...counts.values()])).to.be.below(limitFor(alphabet.length));
    });
  }

  for (const encoding of encodings) {
    it(`draw every byte of ${encoding} equally often`, () => {
      const counts = Array.from({ length: 256 }, () => 0);
      for (let n = 0; n < 50; n++) {
        for (const byte of Buffer.from(one({ keys, by: 'bytes', bytes: 3072, encoding }), encoding)) counts[byte]! += 1;
      }
      expect(unevenness(counts)).to.be.below(limitFor(256));
    });
  }

  it('would be found uneven if bytes were folded onto the alphabet', () => {
    const alphabet = alphabets.symbols;
    const counts = Array.from({ length: alphabet.length }, () => 0);
    for (const byte of systemRandom.bytes(50 * 4096)) counts[byte % alphabet.length]! += 1;
    expect(unevenness(counts)).to.be.above(limitFor(alphabet.length));
  });

  it('reject bytes that would favour some characters', () => {
    const alphabet = alphabets.alphanumeric;
    const queue = [255, 248, 247, 0, 250, 61];
    const random: Random = { ...systemRandom, bytes: count => Buffer.from(queue.splice(0, count)) };
    expect(one({ keys, by: 'characters', length: 3, charset: 'alphanumeric' }, random)).to.equal(
      `${alphabet[247 % 62]}${alphabet[0]}${alphabet[61]}`,
    );
  });

  it('differ from key to key', () => {
    const names = Array.from({ length: 64 }, (_, n) => `k${n}`);
    const values = Object.values(
      revealDocument(generateDocument(toGeneration({ keys: names }, defaultSecretLimits), systemRandom)),
    );
    expect(new Set(values).size).to.equal(64);
  });

  it('have the entropy that their length and alphabet give', () => {
    expect(measureBits({ keys, by: 'bytes', bytes: 16, encoding: 'hex' })).to.equal(128);
    expect(measureBits({ keys, by: 'characters', length: 22, charset: 'alphanumeric' })).to.be.within(130.9, 131);
    expect(measureBits({ keys, by: 'characters', length: 21, charset: 'alphanumeric' })).to.be.below(128);
    expect(measureBits({ keys, by: 'characters', length: 21, charset: 'symbols' })).to.be.above(128);
    expect(measureBits({ keys, by: 'characters', length: 22, charset: 'urlsafe' })).to.equal(132);
  });
});
