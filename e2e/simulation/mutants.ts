import { allLoops } from '../../controllers/index.js';
import { decideReplicas, replicaKeeper } from '../../controllers/replica-keeper/index.js';
import type { Loop, LoopEnv, Wake } from '../../pkg/reconcile/index.js';
import { type Change, type Guard, type Store } from '../../pkg/store/index.js';
import { NODE_GRACE_SECONDS, type Variant } from './cluster.js';

/** A mistake that somebody could make, and how it would look. */
export interface Mutant extends Variant {
  readonly mistake: string;
}

type Decide = NonNullable<Parameters<typeof replicaKeeper>[0]>;

const loops = () => allLoops(undefined, NODE_GRACE_SECONDS);

/** All loops, with another replica keeper. */
const keeping = (decide: Decide) => ({
  loops: () => loops().map(loop => (loop.name === 'replica-keeper' ? replicaKeeper(decide) : loop)),
});

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

/** Writes over whatever is there, whoever leads: guards are made to fit what is stored at the moment of the write. */
function blind(loop: Loop, store: Store): Loop {
  const commit = async (env: LoopEnv, change: Change) => {
    const guards = await Promise.all(
      change.guards.map(async (guard): Promise<Guard> => {
        const entry = await store.get(guard.key);
        return { key: guard.key, at: entry?.revision ?? 0 };
      }),
    );
    const verdict = await store.commit({ ...change, guards });
    if (verdict.stored) await env.cache.reached(verdict.revision);
  };
  return {
    ...loop,
    reconcile: (key, env, signal) => loop.reconcile(key, { ...env, commit: change => commit(env, change) }, signal),
  };
}

/** A loop that is not woken by one kind of record. */
const deafTo = (name: string, prefix: string) => ({
  loops: () =>
    loops().map(loop =>
      loop.name === name ? { ...loop, wakes: loop.wakes.filter(wake => wake.prefix !== prefix) } : loop,
    ),
});

/** Mistakes that must not go unnoticed. Each is caught by the promises of the scenario within a few seeds. */
export const mutants: readonly Mutant[] = [
  { mistake: 'a slot is cleared before its container is removed', ...keeping(clearsTooSoon) },
  { mistake: 'a replica on a node that is not heard is taken for gone', ...keeping(takesFailedForGone) },
  { mistake: 'the word "removed" is believed of containers that run', ...keeping(rollsAllAtOnce) },
  { mistake: 'a replica stays where its data may not be', ...keeping(staysAbroad) },
  { mistake: 'a wake-up is dropped while its key is worked on', loops: () => loops().map(forgetful) },
  { mistake: 'a watch carries on after a break without a relist', reconnecting: 'carry on' },
  { mistake: 'loops write over whatever is there', loops: store => loops().map(loop => blind(loop, store)) },
  { mistake: 'the replica keeper does not hear reports', ...deafTo('replica-keeper', 'reports/') },
  { mistake: 'the scheduler does not hear of nodes that come back', ...deafTo('scheduler', 'node-status/') },
];
