import fc from 'fast-check';

import { ranges } from '../../crds/keys/index.js';

const json = (document: unknown) => Buffer.from(JSON.stringify(document));

/** Bytes that no record should be, whatever its kind. */
const NEVER: readonly Buffer[] = [
  Buffer.from('{"metadata":{"uid":"dep_1'),
  Buffer.from([0xff, 0x00, 0x7b]),
  Buffer.alloc(0),
  ...[null, [], [null], 5, true, 'text', 'x'.repeat(100_000), {}].map(json),
];

const WRONG = [null, 5, -1, '', 'x'.repeat(70_000), 'no time', [], [null], {}, { '': null }, true];

/** Each member of a document and of its inner objects, with its path. */
function listPaths(document: unknown, depth = 3): readonly (readonly string[])[] {
  if (typeof document !== 'object' || document === null || depth === 0) return [];
  return Object.entries(document).flatMap(([member, inner]) => [
    [member],
    ...listPaths(inner, depth - 1).map(path => [member, ...path]),
  ]);
}

function replaceAt(document: unknown, [member, ...rest]: readonly string[], put: unknown): unknown {
  if (member === undefined) return put;
  const copy = (Array.isArray(document) ? [...(document as unknown[])] : { ...(document as object) }) as Record<
    string,
    unknown
  >;
  if (rest.length === 0 && put === undefined) delete copy[member];
  else copy[member] = replaceAt(copy[member], rest, put);
  return copy;
}

/** What a record must survive: bytes that are no record, and the sound document with one member missing or of another type. */
export function listHostile(sound: unknown, seed: number, most = 24): readonly Buffer[] {
  const paths = listPaths(sound);
  if (paths.length === 0) return NEVER;
  const one = fc.record({ path: fc.constantFrom(...paths), put: fc.constantFrom(undefined, ...WRONG) });
  const changed = fc.sample(one, { seed, numRuns: most }).map(({ path, put }) => json(replaceAt(sound, path, put)));
  return [...NEVER, ...changed];
}

/** What stands for the name of an object in keys that no writer of ours makes. */
const MALFORMED = ['NO NAME', 'a/b/c', '..', '.', '', '-first', 'a\u0000b', 'wéb', '%2e%2e', 'x'.repeat(254)];

/** Malformed keys in every range: of a tenant, and in place of a tenant. */
export function listHostileKeys(tenant: string): readonly string[] {
  const all = Object.values(ranges).filter(range => typeof range === 'string');
  return all.flatMap(range => [
    ...MALFORMED.map(name => `${range}${tenant}/${name}`),
    ...['NO TENANT/a', '../a', '/a', 'a/b/c/d/e/f/g'].map(name => range + name),
  ]);
}
