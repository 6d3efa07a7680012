import { monitorEventLoopDelay } from 'node:perf_hooks';

import { expect } from 'chai';

import { optionalFields } from '../../../crds/deployment/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

const CPU_MS = 50;
const STALL_MS = 100;
const ROUNDS = 5;

const web = (more: Readonly<Record<string, unknown>>) => JSON.stringify(webDeployment('web', more));
const many = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));
const map = (count: number, name: (at: number) => string, value: string) =>
  Object.fromEntries(many(count, at => [name(at), value]));
const entry = (at: number) => ({ name: `S${at}`, vault_path: `deployments/s${at}`, anchor: 'process' });

describe('hostile documents over HTTP', () => {
  const lab = new ApiLab({ supportedFields: new Set(optionalFields), settings: { rateLimitPerSecond: 1e9 } });
  let token: string;
  before(async () => {
    await lab.start();
    token = await lab.tenantToken(lab.a);
  });
  after(() => lab.stop());

  const documents: readonly [name: string, text: () => string][] = [
    ['a mebibyte of one text', () => web({ image: 'a'.repeat(1_040_000) })],
    ['a body over the limit', () => web({ image: 'a'.repeat(1_100_000) })],
    ['a depth of a million', () => '['.repeat(1_000_000)],
    ['a depth of a million in a field', () => `{"a":${'{"a":'.repeat(170_000)}`],
    ['ten thousand secrets', () => web({ secrets: many(10_000, entry) })],
    ['as many secrets as a body may hold', () => web({ secrets: many(2_000, entry) })],
    ['ten thousand variables', () => web({ environment: map(10_000, at => `V${at}`, 'x') })],
    ['ten thousand unknown fields', () => web(map(10_000, at => `unknown${at}`, 'x'))],
    ['a thousand times the same key', () => `{${many(1000, () => '"name":"web"').join(',')}}`],
    ['bait for the image', () => web({ image: `${'a/'.repeat(2000)}:${'b'.repeat(2000)}` })],
    ['bait for durations', () => web({ healthCheck: { type: 'exec', command: ['x'], timeout: '1s'.repeat(100_000) } })],
    ['bait for templates', () => web({ composedSecrets: { URL: '{{secret.'.repeat(50_000) } })],
    [
      'bait for credentials',
      () => web({ environment: { X: `${'eyJ'.repeat(100_000)}.`, Y: 'http://'.repeat(50_000) } }),
    ],
    ['combining marks', () => web({ name: `e${'\u0301'.repeat(100_000)}` })],
    ['halves of characters', () => web({ labels: { team: '\ud800'.repeat(10_000) } })],
    [
      'names of what all objects have',
      () => web(JSON.parse('{"__proto__":{"replicas":5},"constructor":{},"toString":"x"}') as {}),
    ],
    ['a chain of dependencies', () => web({ dependsOn: many(4_000, at => ({ name: `d${at}` })) })],
  ];
  for (const [name, text] of documents) {
    it(`refuses ${name} within ${CPU_MS} ms of CPU, and stalls nobody`, async () => {
      const raw = text();
      const before = await lab.store.revision();
      const delay = monitorEventLoopDelay({ resolution: 5 });
      let least = Number.POSITIVE_INFINITY;
      for (let round = 0; round < ROUNDS; round++) {
        delay.reset();
        delay.enable();
        const started = process.cpuUsage();
        const { status } = await lab.ask('POST', '/api/v1/deployments', { token, raw });
        const { user, system } = process.cpuUsage(started);
        delay.disable();
        expect(status).to.be.within(400, 422);
        least = Math.min(least, Math.max((user + system) / 1000, delay.max / 1e6 - (STALL_MS - CPU_MS)));
      }
      expect(least).to.be.below(CPU_MS);
      expect(await lab.store.revision()).to.equal(before);
    });
  }
});
