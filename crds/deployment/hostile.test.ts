import { expect } from 'chai';

import { facts, full, least, limits } from './admit.fixture.js';
import { admitCreate } from './admit.js';

function cpuMillis(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const many = (count: number, entry: (position: number) => [string, unknown]) =>
  Object.fromEntries(Array.from({ length: count }, (_, position) => entry(position)));

const count = 10_000;
let deep: unknown = 'x';
for (let i = 0; i < 100_000; i += 1) deep = [deep];

const baits: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  '10,000 credentials': { environment: many(count, i => [`PASSWORD_${i}`, 'x']) },
  '500 credentials': { environment: many(500, i => [`PASSWORD_${i}`, 'x']) },
  '10,000 numbers in environment': { environment: many(count, i => [`A_${i}`, i]) },
  '10,000 unknown fields': many(count, i => [`replcas${i}`, i]),
  '10,000 ports': { ports: Array.from({ length: count }, () => ({ containerPort: 0, x: 1 })) },
  '10,000 labels': { labels: many(count, i => [`a b ${i}`, 'x y']) },
  '20,000 words': { command: Array.from({ length: 20_000 }, () => 1) },
  'a name of 1 MiB': { name: 'a-'.repeat(2 ** 19) },
  'an image of 1 MiB': { image: 'a/'.repeat(2 ** 19) },
  'a duration of 1 MiB': { healthCheck: { type: 'exec', command: ['x'], timeout: '1s'.repeat(2 ** 19) } },
  'a value of 1 MiB': { environment: { A: 'eyJ.'.repeat(2 ** 18) } },
  'values full of bait': { environment: many(30, i => [`A_${i}`, '://a:eyJ'.repeat(4000)]), bogus: 1 },
  'a key of 1 MiB': { environment: { [`${'A_'.repeat(2 ** 19)}`]: 'x' } },
  'an unknown field of 1 MiB': { ['r'.repeat(2 ** 20)]: 1 },
  'deep nesting in every field': many(20, i => [Object.keys(full)[i] ?? `deep${i}`, deep]),
};

describe('a hostile document', () => {
  before(() => void admitCreate(full, facts, limits));

  for (const [name, bait] of Object.entries(baits)) {
    it(`with ${name} is refused soon, and the answer stays small`, () => {
      let answer = '';
      const spent = cpuMillis(() => {
        answer = JSON.stringify(admitCreate({ ...least, ...bait }, facts, limits));
      });
      expect(JSON.parse(answer)).to.include({ ok: false });
      expect(answer.length).to.be.below(300_000);
      expect(spent).to.be.below(150);
    });
  }

  it('leaves no trace on other objects', () => {
    admitCreate(JSON.parse('{"__proto__": {"polluted": 1}, "environment": {"__proto__": "x"}}'), facts, limits);
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });
});

describe('a typical document', () => {
  it('is admitted in under 0.3 ms of CPU', () => {
    const typical = { ...full, environment: many(20, i => [`SETTING_${i}`, `some value ${i}`]) };
    const admit = () => {
      for (let i = 0; i < 1000; i += 1) admitCreate(typical, facts, limits);
    };
    admit();
    const rounds = Array.from({ length: 5 }, () => cpuMillis(admit));
    expect(Math.min(...rounds) / 1000).to.be.below(0.3);
  });
});
