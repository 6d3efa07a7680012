import { expect } from 'chai';
import fc from 'fast-check';

import { ApiLab } from '../../api/api-lab.testing.js';
import { AT, makeDeployment, makeMetadata, TENANT, TestCluster } from '../../controllers/test-cluster.testing.js';
import { type StoredDeployment, toSpec } from '../../crds/deployment/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import type { NodePresence } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { RotationRecord } from '../../crds/rotation/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { createTestTerminal } from '../../pkg/cli/fake-api.testing.js';
import type { run as Run } from '../../pkg/cli/run.js';
import { buildRevision } from '../../pkg/history/index.js';
import { toCredentialPath, toSecretDocument } from '../../pkg/secrets/index.js';
import { type ExplanationView, findContradictions, type Testimony } from './contradictions.js';

const NODES = ['n0', 'n1', 'n2'] as const;
const NAMES = ['web', 'db'] as const;
const LABEL = 'web-db';
const PATH = `deployments/${LABEL}`;

const rollout = { maxSurge: 1, maxUnavailable: 0, progressDeadline: '60s' };

const specs: readonly Partial<StoredDeployment>[] = [
  { replicas: 1 },
  { replicas: 3, placement: { antiAffinity: { self: true, deployments: [], topologyKey: 'node' } } },
  { replicas: 2, resources: { cpu: '700m' } },
  { replicas: 2, ports: [{ containerPort: 80, hostPort: 80, protocol: 'tcp' }] },
  { replicas: 1, placement: { residency: { country: 'DE' } } },
  { replicas: 1, dependsOn: [{ name: 'db', condition: 'started' }] },
  { replicas: 1, secrets: [{ name: 'DB', vault_path: 'deployments/absent', anchor: 'process', rotation: 'restart' }] },
  { replicas: 0 },
  { replicas: 2, secrets: [{ name: 'DB', vault_path: PATH, anchor: 'process', rotation: 'restart' }] },
  { replicas: 1, image: 'web:2', rollout: { ...rollout, autoRollback: false } },
  { replicas: 2, image: 'web:3', rollout: { ...rollout, autoRollback: true } },
];

const reports: readonly Partial<Report>[] = [
  {},
  { health: 'unhealthy' },
  { health: 'starting' },
  { state: 'exited', reason: 'crash_loop', message: 'exited with code 3', exitCode: 3, restarts: 4 },
  { state: 'failed', reason: 'image_pull_failed', message: 'no such image' },
  { state: 'failed', reason: 'a_word_of_a_later_release' },
  { state: 'creating' },
  { state: 'creating', reason: 'create_stuck', message: 'the engine does not finish', since: AT },
  { state: 'pulling', reason: 'pull_stuck', message: 'nothing of the image arrives', since: AT },
  { state: 'failed', reason: 'image_login_required', message: 'the registry wants a login' },
];

const quotas = [{ containers: 1 }, { cpu: 1 }, {}] as const;

type Act =
  | { readonly kind: 'enrol' | 'lose' | 'drain' | 'engine_away' | 'engine_back' | 'forget'; readonly node: number }
  | { readonly kind: 'quota'; readonly choice: number }
  | { readonly kind: 'rotate'; readonly phase: RotationRecord['phase'] }
  | { readonly kind: 'agents'; readonly work: boolean }
  | { readonly kind: 'put' | 'report'; readonly name: (typeof NAMES)[number]; readonly choice: number }
  | { readonly kind: 'delete'; readonly name: (typeof NAMES)[number] };

const node = fc.nat(NODES.length - 1);
const name = fc.constantFrom(...NAMES);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('enrol', 'lose', 'drain', 'engine_away', 'engine_back', 'forget'),
      node,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('quota' as const), choice: fc.nat(quotas.length - 1) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('rotate' as const), phase: fc.constantFrom('stage', 'promote', 'abort') }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('agents' as const), work: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('put' as const), name, choice: fc.nat(specs.length - 1) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('report' as const), name, choice: fc.nat(reports.length - 1) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), name }) },
);

/** The loops, an API server and the command line over one store in memory. */
class World {
  readonly cluster = new TestCluster();
  readonly #lab: ApiLab;
  readonly #run: typeof Run;
  readonly #stop: AbortController;
  readonly #leases = new Map<string, string>();
  #token = '';
  #generation = 0;

  constructor(run: typeof Run) {
    this.#run = run;
    this.#lab = new ApiLab({ store: this.cluster.store });
    this.#stop = this.cluster.controllers('a');
  }

  async start(): Promise<this> {
    await this.#lab.start();
    await this.#lab.tenant(TENANT);
    await this.cluster.secrets.write(toCredentialPath(TENANT, PATH), {
      document: toSecretDocument({ user: 'u' }),
      after: 0,
      as: 'current',
    });
    this.#token = await this.#lab.tenantToken(TENANT, 'viewer');
    return this;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.cluster.close();
    await this.#lab.stop();
  }

  async perform(each: Act): Promise<void> {
    const { cluster } = this;
    if ('node' in each) {
      const named = NODES[each.node]!;
      const lease = this.#leases.get(named);
      if (each.kind === 'enrol' && !lease) {
        this.#leases.set(named, await cluster.enrol(named, { 'mooring.io/country': each.node === 0 ? 'DE' : 'FR' }));
      }
      if (each.kind === 'lose' && lease) await cluster.store.revoke(lease);
      if (each.kind === 'drain' && lease) await cluster.order(named, { drain: { by: 'x', since: AT } });
      if (each.kind === 'engine_away' || each.kind === 'engine_back') {
        await this.#setEngine(named, each.kind === 'engine_back');
      }
      if (each.kind === 'forget' && lease) {
        await cluster.store.revoke(lease);
        await cluster.erase(keys.node(TENANT, named));
        this.#leases.delete(named);
      }
      return;
    }
    if (each.kind === 'agents') {
      cluster.agentsWork = each.work;
      return;
    }
    if (each.kind === 'quota') {
      const tenant = await cluster.get<StoredTenant>(keys.tenant(TENANT));
      return cluster.put(keys.tenant(TENANT), { ...tenant, quotas: quotas[each.choice] });
    }
    if (each.kind === 'rotate') return this.#rotate(each.phase);
    const key = keys.deployment(TENANT, each.name);
    const stored = await cluster.get<StoredDeployment>(key);
    if (each.kind === 'report') return this.#report(each.name, reports[each.choice]!);
    if (each.kind === 'delete' && !stored) return;
    if (stored?.metadata.deletedAt !== undefined) return;
    // A rollback is a revision of the loops' own.
    this.#generation = Math.max(this.#generation, stored?.metadata.generation ?? 0) + 1;
    const metadata = {
      ...makeMetadata(stored?.metadata.uid ?? `dep_${each.name}_${this.#generation}`),
      generation: this.#generation,
    };
    const updatedAt = new Date(cluster.clock.now()).toISOString();
    if (each.kind === 'delete') {
      await cluster.put(key, { ...stored, metadata: { ...metadata, updatedAt, deletedAt: updatedAt } });
    } else {
      const { dependsOn, ...spec } = specs[each.choice]!;
      const depends = each.name === 'web' && dependsOn;
      const asked = makeDeployment({ ...spec, ...(depends && { dependsOn }), name: each.name });
      const { puts } = buildRevision(toSpec(asked), specHash => ({ ...metadata, updatedAt, specHash }), {
        change: stored ? 'update' : 'create',
        by: 'tok',
        operation: `op-${metadata.generation}`,
        alterations: [],
      });
      for (const put of puts) await cluster.put(put.key, JSON.parse(put.bytes.toString()));
    }
  }

  /** As the heartbeats of the agent say it. */
  async #setEngine(named: string, isBack: boolean): Promise<void> {
    const key = keys.alive(TENANT, named);
    const presence = await this.cluster.get<NodePresence>(key);
    if (!presence) return;
    const { unobservedSince: _, ...rest } = presence;
    const at = new Date(this.cluster.clock.now()).toISOString();
    await this.cluster.put(key, isBack ? rest : { ...rest, unobservedSince: at }, presence.lease);
  }

  /** As the API stores a request: a new rotation begins with stage, and one that is open goes on or is aborted. */
  async #rotate(phase: RotationRecord['phase']): Promise<void> {
    const key = keys.rotation(TENANT, LABEL);
    const record = await this.cluster.get<RotationRecord>(key);
    const isOpen = record !== undefined && record.phase !== 'abort';
    if ((phase === 'stage') === isOpen || (phase === 'stage' && record !== undefined)) return;
    const askedAt = new Date(this.cluster.clock.now()).toISOString();
    const fresh = { id: 'rot_1', path: PATH, from: 1, to: 2, material: { by: 'platform' }, deployment: 'db', by: 'me' };
    await this.cluster.put(key, { ...fresh, ...record, phase, askedAt });
  }

  async #report(deployment: string, change: Partial<Report>): Promise<void> {
    const replicas = await this.cluster.all<Replica>(ranges.replicasOf(TENANT, deployment));
    const [replica] = replicas.filter(({ nodeId, retiringSince }) => nodeId !== undefined && !retiringSince);
    if (!replica) return;
    const { uid, slot, nodeId, templateHash } = replica;
    const at = new Date(this.cluster.clock.now()).toISOString();
    const common = { replica: uid, deployment, slot, nodeId: nodeId!, templateHash, restarts: 0, at };
    await this.cluster.put(keys.report(TENANT, nodeId!, uid), {
      ...common,
      state: 'running',
      health: 'none',
      ...change,
    });
  }

  /** What is said of a deployment, all of it at one revision of the store. Undefined when there is none. */
  async hear(deployment: string): Promise<Testimony | undefined> {
    for (;;) {
      const revision = await this.cluster.store.revision();
      const told = await this.#listen(deployment, String(revision));
      if ((await this.cluster.store.revision()) === revision) return told;
    }
  }

  async #listen(deployment: string, revision: string): Promise<Testimony | undefined> {
    const get = async (path: string) => (await this.#lab.ask('GET', `/api/v1/${path}`, { token: this.#token })).body;
    const shown = (await get(`deployments/${deployment}`)) as unknown as Testimony['deployment'];
    if (shown.metadata === undefined) return undefined;
    const print = async (...words: readonly string[]) => {
      const terminal = createTestTerminal({ MOORING_SERVER: this.#lab.server.url, MOORING_TOKEN: this.#token });
      await this.#run(words, terminal);
      return terminal.printed.out + terminal.printed.err;
    };
    const { items = [] } = (await get(`events?subject=${shown.metadata.uid}`)) as {
      items?: (StoredEvent & { revision: string })[];
    };
    return {
      deployment: shown,
      revision,
      explanation: (await get(`deployments/${deployment}/explain`)) as unknown as ExplanationView,
      events: items.toSorted((a, b) => Number(a.revision) - Number(b.revision)),
      printed: {
        status: await print('status', deployment),
        describe: await print('describe', 'deployment', deployment),
        explain: await print('explain', 'deployment', deployment),
      },
    };
  }
}

describe('status, describe, explain and the newest event', () => {
  let run: typeof Run;
  // Commands are loaded by import(), and mocha loads this file by require(): loaded so too, a class of faults would exist twice.
  before(async () => {
    ({ run } = await import('../../pkg/cli/run.js'));
  });

  it('property: never contradict each other, whatever has happened', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(act, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 5 }),
        async rounds => {
          const world = await new World(run).start();
          try {
            await world.perform({ kind: 'enrol', node: 0 });
            for (const acts of rounds) {
              for (const each of acts) {
                await world.perform(each);
                await world.cluster.clock.pass(500);
              }
              // Long enough for every loop, for an event that waits for the last one to be a minute old, and for a stop that hangs.
              await world.cluster.clock.pass(150_000);
              for (const deployment of NAMES) {
                const told = await world.hear(deployment);
                if (told) expect(findContradictions(told), JSON.stringify(told, undefined, 1)).to.deep.equal([]);
              }
            }
          } finally {
            await world.close();
          }
        },
      ),
      { numRuns: 16, endOnFailure: true },
    );
  });

  it('are caught when one of them contradicts the others', async () => {
    const world = await new World(run).start();
    await world.perform({ kind: 'enrol', node: 0 });
    await world.perform({ kind: 'enrol', node: 1 });
    await world.perform({ kind: 'put', name: 'web', choice: 1 });
    await world.cluster.clock.pass(5_000);
    const told = (await world.hear('web'))!;
    await world.close();
    expect(told.deployment.status.phase).to.equal('Unschedulable');
    expect(findContradictions(told)).to.deep.equal([]);

    const { deployment, explanation, events, printed } = told;
    const lastEvent = { ...events.at(-1)!, type: 'deployment.running', reason: 'running' };
    const planted: readonly (readonly [Partial<Testimony>, RegExp])[] = [
      [{ revision: '1' }, /everything else of 1/],
      [
        { deployment: { ...deployment, status: { ...deployment.status, refusedBy: ['port'] } } },
        /refused by port, the nodes refuse by anti_affinity/,
      ],
      [{ explanation: { ...explanation, phase: 'Running' } }, /the explanation says Running/],
      [{ explanation: { ...explanation, able: 1 } }, /1 nodes take it/],
      [{ explanation: { ...explanation, unplaced: 0 } }, /the explanation 0/],
      [
        { explanation: { ...explanation, summary: '0 of 2 nodes: 2 anti_affinity, 1 not ready' } },
        /does not add up to 2/,
      ],
      [
        { explanation: { ...explanation, steps: explanation.steps.map(step => ({ ...step, state: 'done' })) } },
        /waits at no step/,
      ],
      [{ events: [...events, lastEvent] }, /its newest event is deployment\.running/],
      [{ events: [...events, { ...lastEvent, reason: 'no_such_reason' }] }, /knows nothing/],
      [{ printed: { ...printed, describe: 'Phase: Running' } }, /describe does not print/],
      [
        { deployment: { ...deployment, status: { ...deployment.status, phase: 'Running' } } },
        /it is Running, and waits at placed/,
      ],
    ];
    for (const [change, words] of planted) {
      expect(findContradictions({ ...told, ...change }).join('\n')).to.match(words);
    }
  });

  it('are caught when a rollout that has failed, or was rolled back, is told of a deployment that runs or has failed', async () => {
    const world = await new World(run).start();
    await world.perform({ kind: 'enrol', node: 0 });
    world.cluster.agentsWork = false;
    await world.perform({ kind: 'put', name: 'web', choice: specs.findIndex(({ image }) => image === 'web:2') });
    await world.cluster.clock.pass(70_000);
    const failed = (await world.hear('web'))!;
    world.cluster.agentsWork = true;
    await world.perform({ kind: 'report', name: 'web', choice: 0 });
    await world.cluster.clock.pass(70_000);
    const running = (await world.hear('web'))!;
    await world.close();
    expect([failed.deployment.status.phase, running.deployment.status.phase]).to.deep.equal(['Failed', 'Running']);
    for (const told of [failed, running]) expect(findContradictions(told)).to.deep.equal([]);

    const last = failed.events.at(-1)!;
    expect(last.type).to.equal('deployment.rollout_failed');
    const rolledBack: StoredEvent = { ...last, type: 'deployment.rolled_back', reason: 'rolled_back' };
    for (const [told, event, words] of [
      [running, last, 'it is Running, and its newest event is deployment.rollout_failed'],
      [failed, rolledBack, 'it is Failed, and its newest event is deployment.rolled_back'],
    ] as const) {
      expect(findContradictions({ ...told, events: [...told.events, event] }).join('\n')).to.include(words);
    }
  });
});
