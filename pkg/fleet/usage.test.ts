import { expect } from 'chai';
import fc from 'fast-check';

import { keys, ranges } from '../../crds/keys/index.js';
import type { Replica } from '../../crds/replica/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { encode, MemoryStore, value, WatchCache } from '../store/index.js';
import { TenantUsage } from './fleets.js';

/** What is counted by its records, and where each kind is. */
const counted = {
  deployments: keys.deployment,
  nodes: keys.node,
  volumes: keys.volume,
  networks: keys.network,
  secrets: (of: string, name: string) => keys.secret(of, 'apps', name),
} as const;
type Counted = keyof typeof counted;
const countedKinds = Object.keys(counted) as Counted[];

type Act =
  | {
      readonly kind: 'replica';
      readonly tenant: string;
      readonly slot: number;
      readonly nodeId?: string;
      readonly cpu: string;
      readonly memory: string;
    }
  | { readonly kind: Counted; readonly tenant: string; readonly name: string }
  | { readonly kind: 'remove'; readonly nth: number };

const MEMORY: Readonly<Record<string, number>> = { '512Mi': 2 ** 29, '1Gi': 2 ** 30 };
const tenant = fc.constantFrom('t1', 't10');
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record(
    {
      kind: fc.constant('replica' as const),
      tenant,
      slot: fc.nat(3),
      nodeId: fc.constantFrom('node_1', 'node_2'),
      cpu: fc.constantFrom('500m', '2'),
      memory: fc.constantFrom('512Mi', '1Gi'),
    },
    { requiredKeys: ['kind', 'tenant', 'slot', 'cpu', 'memory'] },
  ),
  fc.record({ kind: fc.constantFrom(...countedKinds), tenant, name: fc.constantFrom('web', 'db') }),
  fc.record({ kind: fc.constant('remove' as const), nth: fc.nat(5) }),
);

describe('TenantUsage', () => {
  it('property: equals a count of all records after any changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 30 }), async acts => {
        const clock = new ManualClock();
        const store = new MemoryStore({ clock });
        const cache = new WatchCache({ store, clock, log: silentLogger });
        const usage = new TenantUsage(cache);
        const stop = new AbortController();
        const fed = cache.run(stop.signal);
        for (const each of acts) await perform(store, each);
        await cache.barrier();

        for (const each of ['t1', 't10']) {
          const replicas = cache.list(ranges.of(ranges.replicas, each)).map(entry => value<Replica>(entry));
          const placed = replicas.filter(({ nodeId }) => nodeId !== undefined);
          const cpu = placed.reduce((sum, { template }) => sum + (template.resources?.cpu === '2' ? 2000 : 500), 0);
          const memory = placed.reduce((sum, { template }) => sum + MEMORY[template.resources!.memory!]!, 0);
          const records = countedKinds.map(kind => [kind, cache.list(ranges.of(ranges[kind], each)).length]);
          const truth = { containers: placed.length, cpu, memory, ...Object.fromEntries(records) };
          expect(usage.of(each)).to.include(truth);
        }
        stop.abort();
        await fed;
      }),
      { numRuns: 60 },
    );
  });
});

async function perform(store: MemoryStore, asked: Act): Promise<void> {
  if (asked.kind === 'remove') {
    const { entries } = await store.list('');
    const entry = entries[asked.nth % Math.max(1, entries.length)];
    if (entry) {
      await store.commit({ guards: [{ key: entry.key, at: entry.revision }], puts: [], deletes: [entry.key] });
    }
    return;
  }
  const [key, document] =
    asked.kind !== 'replica'
      ? [counted[asked.kind](asked.tenant, asked.name), {}]
      : [
          keys.replica(asked.tenant, 'web', asked.slot),
          {
            ...(asked.nodeId && { nodeId: asked.nodeId }),
            template: { resources: { cpu: asked.cpu, memory: asked.memory } },
          },
        ];
  const at = (await store.get(key))?.revision ?? 0;
  await store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(document) }], deletes: [] });
}
