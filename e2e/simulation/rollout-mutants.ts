import { createReplicaKeeper, decideReplicas } from '../../controllers/replica-keeper/index.js';
import type { StoredDeployment } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import { computeTemplateHash, toContainerTemplate } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { RolloutRecord } from '../../crds/rollout/index.js';
import { sleep } from '../../pkg/clock/index.js';
import type { Loop } from '../../pkg/reconcile/index.js';
import { type Cache, type Change, encode, type Put, value } from '../../pkg/store/index.js';
import { altering, inMix, instead } from './mutants.js';

const SELDOM_MS = 500;

type Decide = NonNullable<Parameters<typeof createReplicaKeeper>[0]>;
type Rollout = NonNullable<StoredDeployment['rollout']>;

const keeping = (decide: Decide) => altering('replica-keeper', () => createReplicaKeeper(decide));

/** The keeper as if deployments asked for another rollout. */
const rolling = (alter: (rollout: Rollout) => Rollout) =>
  keeping((deployment, replicas, circumstances) => {
    const { rollout } = deployment ?? {};
    return decideReplicas(rollout ? { ...deployment!, rollout: alter(rollout) } : deployment, replicas, circumstances);
  });

/** A loop that stores other documents of a range than it has decided on. */
export const storing = <T>(name: string, range: string, alter: (document: T) => T) =>
  altering(name, (loop): Loop => {
    const alterPut = (put: Put): Put =>
      put.key.startsWith(range) ? { ...put, bytes: encode(alter(JSON.parse(put.bytes.toString()) as T)) } : put;
    const alterAll = (change: Change): Change => ({ ...change, puts: change.puts.map(alterPut) });
    return {
      ...loop,
      reconcile: (key, env, signal) =>
        loop.reconcile(key, { ...env, commit: change => env.commit(alterAll(change)) }, signal),
    };
  });

const forgetsCompleted = storing<RolloutRecord>('replica-keeper', ranges.rollouts, record => ({
  ...record,
  ...(record.completed && { completed: { ...record.completed, templateHash: 'lost' } }),
}));

/** So seldom that only the quiet at the end notices that it never ends. */
const storesSlowly = (loop: Loop): Loop => ({
  ...loop,
  reconcile: (key, env, signal) => {
    const commit: typeof env.commit = async change => {
      if (change.puts.some(put => put.key.startsWith(ranges.rollouts))) await sleep(env.clock, SELDOM_MS);
      return env.commit(change);
    };
    return loop.reconcile(key, { ...env, commit }, signal);
  },
});

/** Every container that runs is healthy. */
const withoutIllness = (cache: Cache) =>
  instead(cache, 'get', key => {
    const entry = cache.get(key);
    if (!entry || !key.startsWith(ranges.reports)) return entry;
    const report = value<Report>(entry);
    return report.state === 'running' ? entry.withBytes(encode({ ...report, health: 'healthy' })) : entry;
  });

/** Mistakes of rollouts and canaries. */
export const rolloutMutants = inMix('rollouts', [
  {
    mistake: 'a canary is rolled out in full',
    ...keeping((deployment, replicas, circumstances) => {
      const { baseline: _, ...others } = circumstances ?? {};
      return decideReplicas(deployment, replicas, others);
    }),
  },
  {
    mistake: 'a canary is larger than was asked for',
    ...rolling(rollout => (rollout.canary ? { ...rollout, canary: { replicas: '100%' } } : rollout)),
  },
  {
    mistake: 'old replicas that are lost during a canary come back with the new template',
    ...keeping((deployment, replicas, circumstances) => {
      const form = deployment && {
        templateHash: computeTemplateHash(deployment),
        template: toContainerTemplate(deployment),
      };
      return decideReplicas(deployment, replicas, {
        ...circumstances,
        ...(circumstances?.baseline && form && { baseline: form }),
      });
    }),
  },
  {
    mistake: 'a canary is promoted as soon as it is healthy',
    ...storing<RolloutRecord>('replica-keeper', ranges.rollouts, record => {
      const { canary } = record;
      if (!canary?.healthy) return record;
      return { ...record, canary: { ...canary, healthy: { ...canary.healthy, since: '2000-01-01T00:00:00.000Z' } } };
    }),
  },
  {
    mistake: 'a rollout forgets which template was complete',
    loops: loops => forgetsCompleted.loops(loops).map(storesSlowly),
  },
  {
    mistake: 'a rollout takes more away than may be missing',
    ...rolling(rollout => ({ ...rollout, maxUnavailable: 9 })),
  },
  {
    mistake: 'a rollout counts on containers that are unhealthy',
    ...keeping((deployment, replicas, circumstances) =>
      decideReplicas(
        deployment,
        replicas.map(seen =>
          seen.report?.health === 'unhealthy' ? { ...seen, report: { ...seen.report, health: 'healthy' } } : seen,
        ),
        circumstances,
      ),
    ),
  },
  {
    mistake: 'a status takes every container that runs for healthy',
    ...altering('status-roller', loop => ({
      ...loop,
      reconcile: (key, env, signal) => loop.reconcile(key, { ...env, cache: withoutIllness(env.cache) }, signal),
    })),
  },
]);
