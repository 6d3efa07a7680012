import { expect } from 'chai';

import { releaseBuffer } from './spent-bytes.js';

describe('bytes that were read', () => {
  const make = () => Buffer.allocUnsafeSlow(16 * 1024);

  it('are given back a few together, also when one is given back twice', () => {
    const many = Array.from({ length: 100 }, make);
    for (const bytes of many) for (let times = 0; times < 2; times++) releaseBuffer(bytes);
    const left = many.filter(({ buffer }) => buffer.byteLength > 0);
    expect(left.length).to.be.below(32);
  });

  it('are left alone where they may be part of what others hold', () => {
    const small = Array.from({ length: 100 }, (_, at) => Buffer.from(`text ${at}`));
    for (const bytes of small) releaseBuffer(bytes);
    expect(small.map(bytes => bytes.toString())).to.include('text 99');
    expect(small.every(({ buffer }) => buffer.byteLength > 0)).to.equal(true);
  });
});
