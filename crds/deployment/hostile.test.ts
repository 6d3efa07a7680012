import { expect } from 'chai';

import { exampleFacts, full, least, limits } from './admit.testing.js';
import { admitCreate } from './admit.js';

function cpuMillis(work: () => void): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

/** The least CPU time of a few rounds: the others were disturbed. */
function leastMillis(rounds: number, enough: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds && least >= enough; round += 1) least = Math.min(least, cpuMillis(work));
  return least;
}

const CPU_MS = 50;
const ROUNDS = 6;

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
  'values full of users': { environment: many(30, i => [`A_${i}`, '://a@'.repeat(6500)]), bogus: 1 },
  'a key of 1 MiB': { environment: { [`${'A_'.repeat(2 ** 19)}`]: 'x' } },
  'an unknown field of 1 MiB': { ['r'.repeat(2 ** 20)]: 1 },
  '10,000 secrets': {
    secrets: Array.from({ length: count }, () => ({ name: '-', anchor: '{{', vault_path: '/'.repeat(9) })),
  },
  '64 secrets with everything wrong': {
    secrets: Array.from({ length: 64 }, (_, i) => ({
      name: 'A',
      vault_path: `deployments/${'a/'.repeat(100)}${i}`,
      anchor: `volume(${'x'.repeat(100)})`,
      values: many(64, k => [`key ${k}`, '']),
      generate: { keys: Array.from({ length: 256 }, () => 'a-b'), bytes: -1, length: -1 },
    })),
  },
  '64 templates of braces': { composedSecrets: many(64, i => [`A${i}`, '{{secret.a.'.repeat(700)]) },
  'a template of 1 MiB': { composedSecrets: { A: '{{'.repeat(2 ** 19) } },
  '10,000 values': {
    secrets: [{ name: 'A', vault_path: 'deployments/a', anchor: 'process', values: many(count, i => [`k ${i}`, '']) }],
  },
  'a value of 1 MiB in a secret': {
    secrets: [{ name: 'A', vault_path: 'x', anchor: 'process', values: { a: 'x'.repeat(2 ** 20) } }],
  },
  '200,000 keys to generate': {
    secrets: [
      {
        name: 'A',
        vault_path: 'x',
        anchor: 'process',
        generate: { keys: Array.from({ length: 200_000 }, (_, i) => i) },
      },
    ],
  },
  '200,000 values of a constraint': {
    placement: { constraints: [{ key: 'a', operator: 'In', values: Array.from({ length: 200_000 }, (_, i) => i) }] },
  },
  '10,000 mounts': { volumes: Array.from({ length: count }, () => ({ volumeId: 'x' })) },
  'a mount path of 1 MiB': { volumes: [{ volumeId: 'x', mountPath: '/..'.repeat(2 ** 18) }] },
  '10,000 constraints': { placement: { constraints: Array.from({ length: count }, () => ({ key: 'a b' })) } },
  '10,000 blocked countries': {
    placement: { residency: { blockedCountries: Array.from({ length: count }, () => 'xx') } },
  },
  '10,000 residency labels': { labels: many(count, i => [`mooring.io/data-residency-${i}`, 'x']) },
  '10,000 dependencies as a map': { dependsOn: many(count, i => [`a${i}`, 'x']) },
  '10,000 networks': { networks: Array.from({ length: count }, (_, i) => `n${i}`) },
  'a vault path of 1 MiB': {
    secrets: [{ name: 'A', vault_path: 'a/'.repeat(2 ** 19), anchor: 'volume('.repeat(2 ** 17) }],
  },
  'deep nesting in every field': many(24, i => [Object.keys(full)[i] ?? `deep${i}`, deep]),
};

describe('a hostile document', () => {
  before(() => void admitCreate(full, exampleFacts, limits));

  for (const [name, bait] of Object.entries(baits)) {
    it(`with ${name} is refused soon, and the answer stays small`, () => {
      let answer = '';
      const spent = leastMillis(ROUNDS, CPU_MS, () => {
        answer = JSON.stringify(admitCreate({ ...least, ...bait }, exampleFacts, limits));
      });
      expect(JSON.parse(answer)).to.include({ ok: false });
      expect(answer.length).to.be.below(300_000);
      expect(spent).to.be.below(CPU_MS);
    });
  }

  it('leaves no trace on other objects', () => {
    admitCreate(JSON.parse('{"__proto__": {"polluted": 1}, "environment": {"__proto__": "x"}}'), exampleFacts, limits);
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });
});

describe('a ring of a thousand deployments', () => {
  it('is walked through once for each dependency', () => {
    const deployments = Array.from({ length: 1000 }, (_, i) => ({
      name: `d${i}`,
      dependsOn: Array.from({ length: 32 }, (_dependency, k) => ({
        name: `d${(i + k + 1) % 1000}`,
        condition: 'started' as const,
      })),
      hasHealthCheck: true,
      secretPaths: [],
      externalPaths: [],
    }));
    const dependsOn = Array.from({ length: 32 }, (_, i) => ({ name: `d${i * 30}`, condition: 'started' }));
    const spent = leastMillis(ROUNDS, CPU_MS, () => {
      expect(admitCreate({ ...least, dependsOn }, { ...exampleFacts, deployments }, limits).ok).to.equal(true);
    });
    expect(spent).to.be.below(CPU_MS);
  });
});
