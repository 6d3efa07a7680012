import { full } from './admit.testing.js';

const many = (count: number, entry: (position: number) => [string, unknown]) =>
  Object.fromEntries(Array.from({ length: count }, (_, position) => entry(position)));

const times = <T>(count: number, entry: (position: number) => T): T[] =>
  Array.from({ length: count }, (_, position) => entry(position));

function nest(depth: number): unknown {
  let nested: unknown = 'x';
  for (let level = 0; level < depth; level += 1) nested = [nested];
  return nested;
}

const MIB = 2 ** 20;

/** A document that costs more than it should when a rule is careless. */
export interface HostileDocument {
  /** How much of it there is at its worst. */
  readonly size: number;
  /** The fields that do the harm, at a size. */
  readonly fields: (size: number) => Readonly<Record<string, unknown>>;
}

/** Each is refused; `size` is what a body of the largest length can carry, or ten times what is allowed. */
export const hostileDocuments: Readonly<Record<string, HostileDocument>> = {
  'many credentials': { size: 10_000, fields: size => ({ environment: many(size, i => [`PASSWORD_${i}`, 'x']) }) },
  'as many credentials as there may be variables': {
    size: 500,
    fields: size => ({ environment: many(size, i => [`PASSWORD_${i}`, 'x']) }),
  },
  'many numbers in environment': { size: 10_000, fields: size => ({ environment: many(size, i => [`A_${i}`, i]) }) },
  'many unknown fields': { size: 10_000, fields: size => many(size, i => [`replcas${i}`, i]) },
  'many ports': { size: 10_000, fields: size => ({ ports: times(size, () => ({ containerPort: 0, x: 1 })) }) },
  'many labels': { size: 10_000, fields: size => ({ labels: many(size, i => [`a b ${i}`, 'x y']) }) },
  'many words': { size: 20_000, fields: size => ({ command: times(size, () => 1) }) },
  'a long name': { size: MIB, fields: size => ({ name: 'a-'.repeat(size / 2) }) },
  'a long image': { size: MIB, fields: size => ({ image: 'a/'.repeat(size / 2) }) },
  'a long duration': {
    size: MIB,
    fields: size => ({ healthCheck: { type: 'exec', command: ['x'], timeout: '1s'.repeat(size / 2) } }),
  },
  'a long value': { size: MIB, fields: size => ({ environment: { A: 'eyJ.'.repeat(size / 4) } }) },
  'values full of bait': {
    size: 32_000,
    fields: size => ({ environment: many(30, i => [`A_${i}`, '://a:eyJ'.repeat(size / 8)]), bogus: 1 }),
  },
  'values full of users': {
    size: 32_500,
    fields: size => ({ environment: many(30, i => [`A_${i}`, '://a@'.repeat(size / 5)]), bogus: 1 }),
  },
  'a long key': { size: MIB, fields: size => ({ environment: { [`${'A_'.repeat(size / 2)}`]: 'x' } }) },
  'a long unknown field': { size: MIB, fields: size => ({ ['r'.repeat(size)]: 1 }) },
  'many secrets': {
    size: 10_000,
    fields: size => ({ secrets: times(size, () => ({ name: '-', anchor: '{{', vault_path: '/'.repeat(9) })) }),
  },
  'secrets with everything wrong': {
    size: 64,
    fields: size => ({
      secrets: times(size, i => ({
        name: 'A',
        vault_path: `deployments/${'a/'.repeat(100)}${i}`,
        anchor: `volume(${'x'.repeat(100)})`,
        values: many(64, k => [`key ${k}`, '']),
        generate: { keys: times(256, () => 'a-b'), bytes: -1, length: -1 },
      })),
    }),
  },
  'templates of braces': {
    size: 7_700,
    fields: size => ({ composedSecrets: many(64, i => [`A${i}`, '{{secret.a.'.repeat(size / 11)]) }),
  },
  'a long template': { size: MIB, fields: size => ({ composedSecrets: { A: '{{'.repeat(size / 2) } }) },
  'many values': {
    size: 10_000,
    fields: size => ({
      secrets: [{ name: 'A', vault_path: 'deployments/a', anchor: 'process', values: many(size, i => [`k ${i}`, '']) }],
    }),
  },
  'a long value in a secret': {
    size: MIB,
    fields: size => ({
      secrets: [{ name: 'A', vault_path: 'x', anchor: 'process', values: { a: 'x'.repeat(size) } }],
    }),
  },
  'many keys to generate': {
    size: 200_000,
    fields: size => ({
      secrets: [{ name: 'A', vault_path: 'x', anchor: 'process', generate: { keys: times(size, i => i) } }],
    }),
  },
  'many values of a constraint': {
    size: 200_000,
    fields: size => ({ placement: { constraints: [{ key: 'a', operator: 'In', values: times(size, i => i) }] } }),
  },
  'many mounts': { size: 10_000, fields: size => ({ volumes: times(size, () => ({ volumeId: 'x' })) }) },
  'a long mount path': {
    size: MIB,
    fields: size => ({ volumes: [{ volumeId: 'x', mountPath: '/..'.repeat(size / 4) }] }),
  },
  'many constraints': {
    size: 10_000,
    fields: size => ({ placement: { constraints: times(size, () => ({ key: 'a b' })) } }),
  },
  'many blocked countries': {
    size: 10_000,
    fields: size => ({ placement: { residency: { blockedCountries: times(size, () => 'xx') } } }),
  },
  'many residency labels': {
    size: 10_000,
    fields: size => ({ labels: many(size, i => [`mooring.io/data-residency-${i}`, 'x']) }),
  },
  'many dependencies as a map': { size: 10_000, fields: size => ({ dependsOn: many(size, i => [`a${i}`, 'x']) }) },
  'many networks': { size: 10_000, fields: size => ({ networks: times(size, i => `n${i}`) }) },
  'a long vault path': {
    size: MIB,
    fields: size => ({
      secrets: [{ name: 'A', vault_path: 'a/'.repeat(size / 2), anchor: 'volume('.repeat(size / 8) }],
    }),
  },
  'deep nesting in every field': {
    size: 100_000,
    fields: size => {
      const nested = nest(size);
      return many(24, i => [Object.keys(full)[i] ?? `deep${i}`, nested]);
    },
  },
};

/** A ring of deployments in which each depends on the next 32, and a document that depends on 32 of them. */
export function makeDependencyCycle(count: number) {
  const started = (name: string) => ({ name, condition: 'started' as const });
  return {
    deployments: times(count, i => ({
      name: `d${i}`,
      dependsOn: times(32, k => started(`d${(i + k + 1) % count}`)),
      hasHealthCheck: true,
      secretPaths: [],
      externalPaths: [],
    })),
    dependsOn: times(32, i => started(`d${Math.floor((i * count) / 32)}`)),
  };
}
