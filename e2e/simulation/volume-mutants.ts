import { createReplicaKeeper, decideReplicas } from '../../controllers/replica-keeper/index.js';
import { isMovable, type StoredDeployment } from '../../crds/deployment/index.js';
import { keys, ranges, splitKey } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { AssignedVolume, StoredVolume, VolumeStatus } from '../../crds/volume/index.js';
import type { AssignmentLine } from '../../pkg/link/index.js';
import { done, type Loop, type LoopEnv, type Wake } from '../../pkg/reconcile/index.js';
import { type Cache, type Change, encode, type Entry, type Put, type Store, value } from '../../pkg/store/index.js';
import { altering, deafTo, inMix, instead } from './mutants.js';
import type { AgentParts } from './variant.js';

type Decide = NonNullable<Parameters<typeof createReplicaKeeper>[0]>;
type Mounting = Pick<StoredDeployment, 'volumes'>;

const keeping = (decide: Decide) => altering('replica-keeper', () => createReplicaKeeper(decide));

/** The same mounts, as if nobody wrote. */
const reading = <T extends Mounting>(of: T): T =>
  of.volumes ? { ...of, volumes: of.volumes.map(mount => ({ ...mount, readOnly: true })) } : of;

/** As if replicas that write could run twice. What is done about them is done to what is stored. */
const movesWriters: Decide = (deployment, replicas, circumstances) => {
  const originals = new Map(
    replicas.map(seen => [{ ...seen, replica: { ...seen.replica, template: reading(seen.replica.template) } }, seen]),
  );
  const { steps, ...decision } = decideReplicas(deployment, [...originals.keys()], circumstances);
  return {
    ...decision,
    steps: steps.map(step => (step.kind === 'fill' ? step : { ...step, seen: originals.get(step.seen)! })),
  };
};

/** The next version is started while the one before is being stopped. */
const startsBesideOld: Decide = (deployment, replicas, circumstances) => {
  const { steps, ...decision } = decideReplicas(deployment, replicas, circumstances);
  const isReplaced = steps.some(step => step.kind === 'retire' && step.because === 'template_changed');
  const slot = Math.max(...replicas.map(({ replica }) => replica.slot)) + 1;
  const isWriter = deployment !== undefined && !isMovable(deployment);
  return { ...decision, steps: isReplaced && isWriter ? [...steps, { kind: 'fill', slot }] : steps };
};

/** A loop that works with another environment. */
export const within = (name: string, alter: (env: LoopEnv) => LoopEnv) =>
  altering(name, loop => ({ ...loop, reconcile: (key, env, signal) => loop.reconcile(key, alter(env), signal) }));

/** An agent that hears other lines than are sent. */
export const hearing = (alter: (line: AssignmentLine) => AssignmentLine | undefined) => ({
  agent: (parts: AgentParts): AgentParts => ({
    ...parts,
    link: instead(parts.link, 'assignments', (onLine, signal) =>
      parts.link.assignments(line => {
        const heard = alter(line);
        if (heard) onLine(heard);
      }, signal),
    ),
  }),
});

export const listAssigned = (line: AssignmentLine): readonly AssignedVolume[] | undefined =>
  line.type === 'snapshot' || line.type === 'volumes' ? line.volumes : undefined;

const forgetMade = (line: AssignmentLine): AssignmentLine => {
  const volumes = listAssigned(line)?.map(volume => {
    const { isMade: _, ...other } = volume;
    return other;
  });
  return volumes ? ({ ...line, volumes } as AssignmentLine) : line;
};

const forgetSizes = (line: AssignmentLine): AssignmentLine => {
  const volumes = listAssigned(line)?.map(volume => ({ ...volume, sizeBytes: 2 ** 20 }));
  return volumes ? ({ ...line, volumes } as AssignmentLine) : line;
};

/** Whatever the disk has and the control plane does not name is taken for what is left of something. */
const tidyUp = (parts: AgentParts): AgentParts => {
  const driver = parts.volumes!;
  const remove = async (assigned: readonly AssignedVolume[]) => {
    const known = new Set(assigned.map(({ id }) => id));
    for (const { id } of await driver.list()) if (!known.has(id)) await driver.remove(id);
  };
  const link = instead(parts.link, 'assignments', (onLine, signal) =>
    parts.link.assignments(line => {
      onLine(line);
      const assigned = listAssigned(line);
      if (assigned) void remove(assigned).catch(() => undefined);
    }, signal),
  );
  return { ...parts, link };
};

/** The order to remove bytes is carried out later. */
const removesLater = (parts: AgentParts): AgentParts => {
  const driver = parts.volumes!;
  const remove = (id: string) => {
    parts.clock.after(20_000, () => void driver.remove(id).catch(() => undefined));
    return Promise.resolve();
  };
  return { ...parts, volumes: instead(driver, 'remove', remove) };
};

/** A node of the tenant that does not have the bytes. */
function findOtherNode(cache: Cache, tenant: string, { primaryNode }: VolumeStatus): string | undefined {
  const nodes = cache.list(ranges.of(ranges.nodes, tenant)).map(entry => value<StoredNode>(entry).id);
  return nodes.find(id => id !== primaryNode);
}

/** The status as if the bytes were on another node. */
function misplace<T extends Pick<Entry, 'key' | 'bytes'>>(entry: T, cache: Cache): T {
  const [tenant = ''] = splitKey(entry.key);
  const status = JSON.parse(entry.bytes.toString()) as VolumeStatus;
  const primaryNode = findOtherNode(cache, tenant, status);
  return primaryNode === undefined ? entry : { ...entry, bytes: encode({ ...status, primaryNode }) };
}

const movesLost = ({ cache, ...env }: LoopEnv): LoopEnv => {
  const isLost = ({ key, bytes }: Put) => key.startsWith(ranges.volumeStatuses) && bytes.includes('volume_node_silent');
  const alter = (change: Change): Change => ({
    ...change,
    puts: change.puts.map(put => (isLost(put) ? misplace(put, cache) : put)),
  });
  return { ...env, cache, commit: change => env.commit(alter(change)) };
};

const CLAIMED = ' (claimed)';

/** What it stores as ready it reads as it was: else it would store it over and over, which is noticed for itself. */
const claimsReady = ({ cache, ...env }: LoopEnv): LoopEnv => {
  const alter = <T extends Pick<Entry, 'key' | 'bytes'>>(entry: T, of: (status: VolumeStatus) => VolumeStatus): T =>
    entry.key.startsWith(ranges.volumeStatuses)
      ? { ...entry, bytes: encode(of(JSON.parse(entry.bytes.toString()) as VolumeStatus)) }
      : entry;
  const claim = (status: VolumeStatus): VolumeStatus =>
    status.phase === 'Degraded' ? { ...status, phase: 'Ready', message: `${status.message}${CLAIMED}` } : status;
  const admit = (status: VolumeStatus): VolumeStatus =>
    status.message.endsWith(CLAIMED)
      ? { ...status, phase: 'Degraded', message: status.message.slice(0, -CLAIMED.length) }
      : status;
  const read = instead(cache, 'get', key => {
    const entry = cache.get(key);
    return entry && alter(entry, admit);
  });
  const commit = (change: Change) => env.commit({ ...change, puts: change.puts.map(put => alter(put, claim)) });
  return { ...env, cache: read, commit };
};

const misplacing = (cache: Cache): Cache =>
  instead(cache, 'get', key => {
    const entry = cache.get(key);
    return entry && key.startsWith(ranges.volumeStatuses) ? misplace(entry, cache) : entry;
  });

/** A cache whose lists of a tenant show no mounts. */
const withoutMounts = (cache: Cache): Cache =>
  instead(cache, 'list', prefix => {
    const entries = cache.list(prefix);
    const isOfConsumers = [ranges.deployments, ranges.jobs, ranges.replicas].some(range => prefix.startsWith(range));
    if (!isOfConsumers || splitKey(prefix).filter(Boolean).length > 1) return entries;
    return entries.map(entry => {
      const { volumes: _, ...stored } = value<StoredDeployment & Partial<Replica>>(entry);
      const { template } = stored;
      const bare = template && { ...template, volumes: [] };
      return entry.withBytes(encode({ ...stored, ...(bare && { template: bare }) }));
    });
  });

/** The records go when their deletion is asked for. */
const forgetsAtOnce = altering('volume-keeper', loop => ({
  ...loop,
  reconcile: async (key, env, signal) => {
    const [tenant = '', id = ''] = key.split('/');
    const [entry, status] = [keys.volume(tenant, id), keys.volumeStatus(tenant, id)].map(each => env.cache.get(each));
    const isOrdered = entry && value<StoredVolume>(entry).metadata.deletedAt !== undefined;
    if (!isOrdered || !status) return loop.reconcile(key, env, signal);
    const guards = [entry, status].map(each => ({ key: each.key, at: each.revision }));
    await env.commit({ guards, puts: [], deletes: guards.map(guard => guard.key) });
    return done;
  },
}));

/** What those write who must not overlook each other. */
const CONFLICT_RANGE = 'turns/';

/** A server that deletes volumes without the key that all have in common who mount or delete them. */
const deletesAlone = (store: Store): Store =>
  instead(store, 'commit', change => {
    const isDeletion = change.puts.some(
      ({ key, bytes }) => key.startsWith(ranges.volumes) && bytes.includes('"deletedAt"'),
    );
    const isOther = ({ key }: { readonly key: string }) => !key.startsWith(CONFLICT_RANGE);
    if (!isDeletion) return store.commit(change);
    return store.commit({ ...change, guards: change.guards.filter(isOther), puts: change.puts.filter(isOther) });
  });

/** A key that nobody takes apart stops the loop that hears of it. */
const stopsAtMalformed = (loop: Loop): Loop => {
  let isStopped = false;
  const wakes = loop.wakes.map(
    ({ prefix, keys: derive }): Wake => ({
      prefix,
      keys: (change, cache) => {
        try {
          derive({ ...change, key: `${prefix}..` }, cache);
        } catch {
          isStopped = true;
        }
        return isStopped ? [] : derive(change, cache);
      },
    }),
  );
  return { ...loop, wakes };
};

/** Mistakes about volumes that must not go unnoticed. */
export const volumeMutants = inMix('volumes', [
  {
    mistake: 'an agent removes bytes that are not assigned to it',
    pace: { restores: 5 },
    agent: tidyUp,
  },
  { mistake: 'an agent makes an empty volume where one was made', ...hearing(forgetMade) },
  { mistake: 'bytes are said to be removed before they are', agent: removesLater },
  {
    mistake: 'agents do not hear volumes that come later',
    ...hearing(line => (line.type === 'volumes' ? undefined : line)),
  },
  { mistake: 'agents do not hear of another size', ...hearing(forgetSizes) },
  {
    mistake: 'a volume on a node that sends no heartbeats gets another node',
    ...within('volume-keeper', movesLost),
  },
  { mistake: 'a malformed key stops the volume keeper', ...altering('volume-keeper', stopsAtMalformed) },
  { mistake: 'the record of a volume goes before its bytes', ...forgetsAtOnce },
  {
    mistake: 'the volume keeper does not watch reports',
    ...deafTo('volume-keeper', ranges.volumeReports),
  },
  {
    mistake: 'a volume is claimed to be ready whatever its agent says',
    ...within('volume-keeper', claimsReady),
  },
  {
    mistake: 'what mounts a volume is placed on another node',
    ...within('scheduler', env => ({ ...env, cache: misplacing(env.cache) })),
  },
  { mistake: 'a container that writes is given up with its node', ...keeping(movesWriters) },
  { mistake: 'two revisions of what writes run beside each other', ...keeping(startsBesideOld) },
  {
    mistake: 'a rollback does not look for another writer',
    ...within('replica-keeper', env => ({ ...env, cache: withoutMounts(env.cache) })),
  },
  {
    mistake: 'a container that still writes is not asked about when another one is to',
    apiCache: cache =>
      instead(cache, 'by', (index, key) => (index === 'api.replicas-by-volume' ? [] : cache.by(index, key))),
  },
  { mistake: 'a volume is deleted while it is being mounted', apiStore: deletesAlone },
]);
