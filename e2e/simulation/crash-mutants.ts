import { createReplicaKeeper, decideReplicas } from '../../controllers/replica-keeper/index.js';
import type { DeploymentStatus } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import { isUpToDate, parseJobOwner } from '../../crds/replica/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import type { Change, Store } from '../../pkg/store/index.js';
import { altering, instead, type Mutant } from './mutants.js';
import { storing } from './rollout-mutants.js';

type ObservedReplica = Parameters<Decide>[1][number];
type Decide = NonNullable<Parameters<typeof createReplicaKeeper>[0]>;

const keeping = (decide: Decide) => altering('replica-keeper', () => createReplicaKeeper(decide));

/** The two halves of a change: the second has the keys of some ranges. Undefined when there is nothing to halve. */
function halve({ guards, puts, deletes }: Change, later: readonly string[]): readonly [Change, Change] | undefined {
  const isLater = (key: string) => later.some(range => key.startsWith(range));
  const first = {
    guards,
    puts: puts.filter(({ key }) => !isLater(key)),
    deletes: deletes.filter(key => !isLater(key)),
  };
  const second = { guards: [], puts: puts.filter(({ key }) => isLater(key)), deletes: deletes.filter(isLater) };
  return [first, second].some(half => half.puts.length + half.deletes.length === 0) ? undefined : [first, second];
}

/** A loop that makes two changes of what should be one. */
const inTwo = (name: string, ...later: readonly string[]) =>
  altering(
    name,
    (loop): Loop => ({
      ...loop,
      reconcile: (key, env, signal) => {
        const commit = async (change: Change) => {
          for (const half of halve(change, later) ?? [change]) await env.commit(half);
        };
        return loop.reconcile(key, { ...env, commit }, signal);
      },
    }),
  );

/** An API server that does. */
const storedInTwo = (...later: readonly string[]) => ({
  apiStore: (store: Store) =>
    instead(store, 'commit', async (change: Change) => {
      const [first, second] = halve(change, later) ?? [change];
      const verdict = await store.commit(first);
      return verdict.stored && second ? store.commit(second) : verdict;
    }),
});

/** Mistakes that show when a process dies at the wrong moment, or where load moves what is rolled out. */
export const crashMutants: readonly Mutant[] = [
  {
    mistake: 'an agent that starts again takes down what it finds',
    engine: engine => {
      let isFirst = true;
      return instead(engine, 'list', async nodeId => {
        const found = await engine.list(nodeId);
        if (!isFirst) return found;
        isFirst = false;
        const own = found.filter(({ owner, state }) => state === 'running' && !parseJobOwner(owner.deployment));
        for (const { id } of own) await engine.stop(id, 0);
        return engine.list(nodeId);
      });
    },
  },
  {
    mistake: 'fewer replicas are had by taking away those that serve',
    pace: { mix: 'everything' },
    ...keeping((deployment, replicas, circumstances) => {
      const isServing = { state: 'running', health: 'healthy' } as const;
      const alter = (seen: ObservedReplica): ObservedReplica =>
        seen.report && !seen.replica.retiringSince ? { ...seen, report: { ...seen.report, ...isServing } } : seen;
      const isRolling = deployment && replicas.some(({ replica }) => !isUpToDate(replica, deployment));
      return decideReplicas(deployment, isRolling ? replicas : replicas.map(alter), circumstances);
    }),
  },
  {
    mistake: 'a rollout takes too many away where load moves the number',
    pace: { mix: 'everything' },
    ...keeping((deployment, replicas, circumstances) => {
      const { rollout, resources } = deployment ?? {};
      const altered =
        rollout && resources?.cpu ? { ...deployment!, rollout: { ...rollout, maxUnavailable: 9 } } : deployment;
      return decideReplicas(altered, replicas, circumstances);
    }),
  },
  {
    mistake: 'a status claims that all is well wherever load moves the number',
    pace: { mix: 'scaling' },
    ...storing<DeploymentStatus>('status-roller', ranges.statuses, status =>
      status.scaling ? { ...status, phase: 'Running' } : status,
    ),
  },
  {
    mistake: 'a step by load is stored before its event',
    pace: { mix: 'scaling' },
    ...inTwo('autoscaler', ranges.events),
  },
  {
    mistake: 'the replica keeper stores one after the other what belongs together',
    ...inTwo('replica-keeper', ranges.deployments, ranges.archives),
  },
  { mistake: 'an attempt is made before it is counted', ...inTwo('job-runner', ranges.jobStatuses) },
  { mistake: 'a backup is stored before what it holds', ...storedInTwo(ranges.backupContents) },
];
