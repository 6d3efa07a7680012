import { decideReplicas, createReplicaKeeper } from '../../controllers/replica-keeper/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { StoredTenant } from '../../crds/tenant/index.js';
import { type AssignmentLine, formatAgentRun, type ProvenPosition } from '../../pkg/link/index.js';
import type { Loop, LoopEnv, Wake } from '../../pkg/reconcile/index.js';
import { type Cache, type Change, encode, type Guard, type Put, type Store, value } from '../../pkg/store/index.js';
import type { MixName } from './mix.js';
import type { Variant } from './variant.js';

/** A mistake that a developer could make, and the code that makes it. */
export interface Mutant extends Variant {
  readonly mistake: string;
}

/** Mistakes that show in one mix: every seed has it. */
export const inMix = (mix: MixName, all: readonly Mutant[]): readonly Mutant[] =>
  all.map(mutant => ({ ...mutant, pace: { mix, ...mutant.pace } }));

type Decide = NonNullable<Parameters<typeof createReplicaKeeper>[0]>;

/** All loops, one of them another. */
export const altering = (name: string, alter: (loop: Loop) => Loop) => ({
  loops: (all: readonly Loop[]) => all.map(loop => (loop.name === name ? alter(loop) : loop)),
});

const keeping = (decide: Decide) => altering('replica-keeper', () => createReplicaKeeper(decide));

/** The record of a deleted deployment goes without a trace of its name. */
const forgetsNames = (loop: Loop): Loop => {
  const isOther = ({ key }: Put) => !key.startsWith(ranges.formerDeployments);
  const commit = (env: LoopEnv, change: Change) => env.commit({ ...change, puts: change.puts.filter(isOther) });
  return {
    ...loop,
    reconcile: (key, env, signal) => loop.reconcile(key, { ...env, commit: change => commit(env, change) }, signal),
  };
};

const EVERY_RUN = formatAgentRun({ id: 'f'.repeat(16), ended: [] });

/** A place in the history of the store that is never another one. */
const ANY_MOMENT: ProvenPosition = { revision: 1, restoreEpoch: 0, proof: '' };

/** A line as if the store had no history. */
function withoutHistory(line: AssignmentLine): AssignmentLine {
  if (line.type !== 'snapshot') return line;
  const { isSetBack: _, ...rest } = line;
  return { ...rest, store: ANY_MOMENT };
}

const clearsTooSoon: Decide = (deployment, replicas, refused) => {
  const { steps, finished } = decideReplicas(deployment, replicas, refused);
  const retiring = replicas.filter(({ replica }) => replica.retiringSince !== undefined);
  const rest = steps.filter(step => step.kind !== 'clear' || !retiring.includes(step.seen));
  return { finished, steps: [...rest, ...retiring.map(seen => ({ kind: 'clear', seen }) as const)] };
};

const takesFailedForGone: Decide = (deployment, replicas, refused) =>
  decideReplicas(
    deployment,
    replicas.map(seen => (seen.node === 'failed' ? { ...seen, node: 'gone' } : seen)),
    refused,
  );

const rollsAllAtOnce: Decide = (deployment, replicas, refused) =>
  decideReplicas(
    deployment,
    replicas.map(seen => (seen.report ? { ...seen, report: { ...seen.report, state: 'removed' } } : seen)),
    refused,
  );

const staysAbroad: Decide = (deployment, replicas, circumstances) =>
  decideReplicas(
    deployment,
    replicas.map(seen => ({ ...seen, misplaced: false })),
    circumstances,
  );

/** As if the rollout could start any number beside the old ones. */
const startsAll: Decide = (deployment, replicas, circumstances) => {
  const rollout = { maxSurge: 9, maxUnavailable: 0, progressDeadline: '10m', autoRollback: true };
  return decideReplicas(deployment && { ...deployment, rollout }, replicas, circumstances);
};

const shrinks: Decide = (deployment, replicas, circumstances) => {
  const decision = decideReplicas(deployment, replicas, circumstances);
  const serving = replicas.find(({ node, replica }) => node === 'well' && !replica.retiringSince);
  // One that waits for a host port waits for ever, and would be taken away for ever.
  const isOver = (circumstances?.refused ?? 0) > 0 && serving && !deployment?.ports && decision.steps.length === 0;
  return isOver ? { ...decision, steps: [{ kind: 'retire', seen: serving, because: 'quota' }] } : decision;
};

/** A queue that ignores what is added while it works on the same key. */
function forgetful(loop: Loop): Loop {
  const active = new Set<string>();
  const wakes = loop.wakes.map(
    (wake): Wake => ({
      prefix: wake.prefix,
      keys: (change, cache) => wake.keys(change, cache).filter(key => !active.has(key)),
    }),
  );
  const reconcile: Loop['reconcile'] = async (key, env, signal) => {
    active.add(key);
    try {
      return await loop.reconcile(key, env, signal);
    } finally {
      active.delete(key);
    }
  };
  return { ...loop, wakes, reconcile };
}

/** The guards as they must be to let a change through, whatever is there. */
function fitting(guards: readonly Guard[], store: Store): Promise<readonly Guard[]> {
  return Promise.all(
    guards.map(async ({ key }): Promise<Guard> => ({ key, at: (await store.get(key))?.revision ?? 0 })),
  );
}

/** Overwrites without being the leader: guards are changed to match what is stored at the moment of the write. */
function blind(loop: Loop, store: Store): Loop {
  const commit = async (env: LoopEnv, change: Change) => {
    const verdict = await store.commit({ ...change, guards: await fitting(change.guards, store) });
    if (verdict.stored) await env.cache.reached(verdict.revision);
  };
  return {
    ...loop,
    reconcile: (key, env, signal) => loop.reconcile(key, { ...env, commit: change => commit(env, change) }, signal),
  };
}

/** A store with which some guards always hold. */
const blindTo = (...prefixes: readonly string[]) => ({
  apiStore: (store: Store) =>
    instead(store, 'commit', async (change: Change) => {
      const isBlind = ({ key }: Guard) => prefixes.some(prefix => key.startsWith(prefix));
      const fitted = await fitting(change.guards.filter(isBlind), store);
      return store.commit({ ...change, guards: [...change.guards.filter(guard => !isBlind(guard)), ...fitted] });
    }),
});

/** The same thing with one method of another kind. */
export function instead<T extends object, K extends keyof T>(target: T, method: K, other: T[K]): T {
  return new Proxy(target, {
    get: (from, name) => {
      if (name === method) return other;
      const found: unknown = Reflect.get(from, name);
      return typeof found === 'function' ? (found.bind(from) as unknown) : found;
    },
  });
}

/** A cache that shows no quota. */
const withoutQuotas = (cache: Cache) =>
  instead(cache, 'get', key => {
    const entry = cache.get(key);
    if (!entry || !key.startsWith(ranges.tenants)) return entry;
    const { quotas: _, ...tenant } = value<StoredTenant>(entry);
    return entry.withBytes(encode(tenant));
  });

/** A loop that is not woken by one kind of record. */
export const deafTo = (name: string, ...prefixes: readonly string[]) =>
  altering(name, loop => ({ ...loop, wakes: loop.wakes.filter(({ prefix }) => !prefixes.includes(prefix)) }));

/** Mistakes that must not go unnoticed. Each is caught by the promises of the scenario, most of them within a few seeds. */
export const mutants: readonly Mutant[] = [
  { mistake: 'a slot is cleared before its container is removed', ...keeping(clearsTooSoon) },
  { mistake: 'a replica on a failed node is treated as gone', ...keeping(takesFailedForGone) },
  { mistake: 'the word "removed" is believed of containers that run', ...keeping(rollsAllAtOnce) },
  { mistake: 'a replica stays where its data may not be', pace: { mix: 'residency' }, ...keeping(staysAbroad) },
  { mistake: 'a rollout starts every new replica at once', ...keeping(startsAll) },
  { mistake: 'a wake-up is dropped while its key is worked on', loops: loops => loops.map(forgetful) },
  { mistake: 'a watch carries on after a break without a relist', reconnecting: 'carry on' },
  {
    mistake: 'loops overwrite without guards',
    loops: (loops, store) => loops.map(loop => blind(loop, store)),
  },
  {
    mistake: 'the replica keeper does not watch reports',
    ...deafTo('replica-keeper', ranges.reports),
  },
  {
    // Quotas change all the time here, and would wake it too.
    mistake: 'the scheduler does not watch nodes that come back',
    pace: { orders: 5 },
    ...deafTo('scheduler', ranges.nodeStatuses, ranges.tenants),
  },
  {
    mistake: 'claims overwrite without guards',
    pace: { machines: 8 },
    ...blindTo('node-names/', ranges.nodes),
  },
  {
    mistake: 'containers of a former owner are not looked for',
    pace: { machines: 8 },
    engine: (engine, { server }) =>
      instead(engine, 'list', async nodeId => {
        const { entries } = await server.list(ranges.nodes);
        return entries.some(entry => value<StoredNode>(entry).id === nodeId) ? engine.list(nodeId) : [];
      }),
  },
  {
    mistake: 'the scheduler does not look at quotas',
    ...altering('scheduler', loop => ({
      ...loop,
      reconcile: (key, env, signal) => loop.reconcile(key, { ...env, cache: withoutQuotas(env.cache) }, signal),
    })),
  },
  { mistake: 'nodes join whatever the quota is', apiCache: withoutQuotas },
  {
    mistake: 'a quota that is raised wakes no deployment',
    ...deafTo('scheduler', ranges.tenants),
  },
  { mistake: 'a quota that is reached takes containers away', ...keeping(shrinks) },
  {
    mistake: 'what goes is not counted',
    apiCache: cache =>
      instead(cache, 'subscribe', listener =>
        cache.subscribe(change => {
          if (change.entry) listener(change);
        }),
      ),
  },
  {
    mistake: 'what an agent does not see is claimed',
    link: link =>
      instead(link, 'heartbeat', beat => link.heartbeat({ ...beat, containersSeenMsAgo: 0, conditions: [] })),
  },
  {
    mistake: 'agents with one identity are not told apart',
    link: link => instead(link, 'present', credentials => link.present({ ...credentials, agent: EVERY_RUN })),
  },
  {
    mistake: 'an agent that is refused lets its containers run for ever',
    link: link => instead(link, 'findDoubles', () => Promise.resolve([])),
  },
  {
    mistake: 'agents do not hear that the store was restored',
    pace: { restores: 5 },
    link: link =>
      instead(link, 'assignments', (onLine, signal) =>
        link.assignments(line => onLine(line.type === 'snapshot' ? { ...line, restoreEpoch: 0 } : line), signal),
      ),
  },
  {
    mistake: 'an agent obeys a store that was set back before the restore is declared',
    pace: { restores: 5 },
    link: link => {
      const deaf = instead(link, 'assignments', (onLine, signal) =>
        link.assignments(line => onLine(withoutHistory(line)), signal),
      );
      return instead(deaf, 'heartbeat', async beat => ({ ...(await link.heartbeat(beat)), store: ANY_MOMENT }));
    },
  },
  {
    mistake: 'an agent obeys a declaration of the restore that does not name what would go',
    pace: { restores: 5 },
    link: link => {
      let digest: string | undefined;
      const telling = instead(link, 'heartbeat', beat => {
        digest = beat.setBack?.digest ?? digest;
        return link.heartbeat(beat);
      });
      return instead(telling, 'assignments', (onLine, signal) =>
        link.assignments(
          line => onLine(line.type === 'snapshot' && digest ? { ...line, confirmed: digest } : line),
          signal,
        ),
      );
    },
  },
  {
    mistake: 'networks that are not wanted any more stay on the engine',
    pace: { networks: 6 },
    engine: engine => instead(engine, 'removeNetworks', () => Promise.resolve(0)),
  },
  {
    mistake: 'agents do not hear networks that come later',
    link: link =>
      instead(link, 'assignments', (onLine, signal) =>
        link.assignments(line => {
          if (line.type !== 'networks') onLine(line);
        }, signal),
      ),
  },
  {
    mistake: 'a network removed by hand is taken to be there',
    engine: engine => {
      const made = new Set<string>();
      return instead(engine, 'ensureNetwork', async spec => {
        if (!made.has(spec.name)) await engine.ensureNetwork(spec);
        made.add(spec.name);
      });
    },
  },
  {
    mistake: 'a container is made without the secrets that could not be had',
    link: link =>
      instead(link, 'environment', request => link.environment(request).catch(() => new Map<string, never>())),
  },
  {
    mistake: 'a container is given another version than it was stamped with',
    apiSecrets: secrets =>
      instead(secrets, 'read', (path, version = 1) => secrets.read(path, Math.max(1, version - 1))),
  },
  {
    mistake: 'a ticket is good as often as it is shown',
    ...blindTo(ranges.deliveries),
    link: link =>
      instead(link, 'environment', request => {
        void link.environment(request).catch(() => undefined);
        return link.environment(request);
      }),
  },
  {
    mistake: 'a deployment of a deleted name begins to count at one',
    ...altering('replica-keeper', forgetsNames),
  },
  {
    mistake: 'the old version is destroyed when the new one becomes current',
    loopSecrets: secrets =>
      instead(secrets, 'promote', async (path, version, condition) => {
        const promoted = await secrets.promote(path, version, condition);
        await secrets.destroy(path, version - 1, { uid: '', ...condition });
        return promoted;
      }),
  },
];
