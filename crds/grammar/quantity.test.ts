import { expect } from 'chai';

import { formatAmount, formatBytes, formatCores, formatCount, formatFree } from './quantity.js';

describe('quantity formats', () => {
  for (const [count, text] of [
    [0, '0B'],
    [1023, '1023B'],
    [1024, '1KiB'],
    [8_160_000_000, '7.6GiB'],
    [512 * 1024 ** 2, '512MiB'],
  ] as const) {
    it(`${count} bytes are ${text}`, () => expect(formatBytes(count)).to.equal(text));
  }

  it('formats cores', () => expect([2000, 500, 1255].map(formatCores)).to.deep.equal(['2', '0.5', '1.26']));

  it('formats an amount as it is written in a spec', () => {
    const amounts = [formatAmount('cpu', 500), formatAmount('memory', 2 ** 26), formatAmount('containers', 3)];
    expect(amounts).to.deep.equal(['500m cpu', '64Mi memory', '3 containers']);
  });

  for (const [kind, amount, text] of [
    ['containers', 0, '0 containers'],
    ['containers', 1, '1 container'],
    ['jobs', 1, '1 job'],
    ['jobs', 12, '12 jobs'],
    ['cpu', 1, '1m cpu'],
    ['memory', 2 ** 20, '1Mi memory'],
  ] as const) {
    it(`${amount} of ${kind} is formatted as ${text}`, () => expect(formatAmount(kind, amount)).to.equal(text));
  }

  for (const [count, noun, plural, text] of [
    [0, 'replica', undefined, '0 replicas'],
    [1, 'replica', undefined, '1 replica'],
    [2, 'replica', undefined, '2 replicas'],
    [1, 'entry', 'entries', '1 entry'],
    [2, 'entry', 'entries', '2 entries'],
  ] as const) {
    it(`counts ${text}`, () => expect(formatCount(count, noun, plural)).to.equal(text));
  }

  it('formats what is free in the unit of the whole, rounded down', () => {
    expect(formatFree('cpu', 1_899, 2_000)).to.equal('cpu 1.8 of 2');
    expect(formatFree('memory', 23.99 * 2 ** 30, 24 * 2 ** 30)).to.equal('memory 23.9 of 24 GiB');
    expect(formatFree('memory', 1023, 2 ** 20)).to.equal('memory 0 of 1 MiB');
    expect(formatFree('memory', 2 ** 40, 2 ** 41)).to.equal('memory 1024 of 2048 GiB');
  });
});
