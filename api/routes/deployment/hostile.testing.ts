import { webDeployment } from '../../api-lab.testing.js';

const web = (more: Readonly<Record<string, unknown>>) => JSON.stringify(webDeployment('web', more));
const many = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));
const map = (count: number, name: (at: number) => string, value: string) =>
  Object.fromEntries(many(count, at => [name(at), value]));
const entry = (at: number) => ({ name: `S${at}`, vault_path: `deployments/s${at}`, anchor: 'process' });

/** Bodies that the API refuses, each with the size at which it is worst and its text at a size. */
export const hostileBodies: Readonly<
  Record<string, { readonly size: number; readonly make: (size: number) => string }>
> = {
  'a mebibyte of one text': { size: 1_040_000, make: size => web({ image: 'a'.repeat(size) }) },
  'a body over the limit': { size: 1_100_000, make: size => web({ image: 'a'.repeat(size) }) },
  'a depth of a million': { size: 1_000_000, make: size => '['.repeat(size) },
  'a depth of a million in a field': { size: 170_000, make: size => `{"a":${'{"a":'.repeat(size)}` },
  'ten thousand secrets': { size: 10_000, make: size => web({ secrets: many(size, entry) }) },
  'as many secrets as a body may hold': { size: 2_000, make: size => web({ secrets: many(size, entry) }) },
  'ten thousand variables': { size: 10_000, make: size => web({ environment: map(size, at => `V${at}`, 'x') }) },
  'ten thousand unknown fields': { size: 10_000, make: size => web(map(size, at => `unknown${at}`, 'x')) },
  'a key of slashes': { size: 1_000_000, make: size => `{"${'/'.repeat(size)}":1}` },
  'a thousand times the same key': { size: 1000, make: size => `{${many(size, () => '"name":"web"').join(',')}}` },
  'bait for the image': {
    size: 2000,
    make: size => web({ image: `${'a/'.repeat(size)}:${'b'.repeat(size)}` }),
  },
  'bait for durations': {
    size: 100_000,
    make: size => web({ healthCheck: { type: 'exec', command: ['x'], timeout: '1s'.repeat(size) } }),
  },
  'bait for templates': { size: 50_000, make: size => web({ composedSecrets: { URL: '{{secret.'.repeat(size) } }) },
  'bait for credentials': {
    size: 100_000,
    make: size => web({ environment: { X: `${'eyJ'.repeat(size)}.`, Y: 'http://'.repeat(size / 2) } }),
  },
  'combining marks': { size: 100_000, make: size => web({ name: `e${'\u0301'.repeat(size)}` }) },
  'halves of characters': { size: 10_000, make: size => web({ labels: { team: '\ud800'.repeat(size) } }) },
  'names of what all objects have': {
    size: 1,
    make: () => web(JSON.parse('{"__proto__":{"replicas":5},"constructor":{},"toString":"x"}') as {}),
  },
  'a chain of dependencies': { size: 4_000, make: size => web({ dependsOn: many(size, at => ({ name: `d${at}` })) }) },
};
