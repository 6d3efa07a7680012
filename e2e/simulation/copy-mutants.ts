import { ranges } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { AssignedVolume, VolumeReport, VolumeStatus } from '../../crds/volume/index.js';
import type { VolumeDriver } from '../../pkg/agent/volumes/index.js';
import type { AssignmentLine, ProvenPosition } from '../../pkg/link/index.js';
import { type Cache, encode, type Entry, value } from '../../pkg/store/index.js';
import { COUNTRY } from './machine.js';
import { inMix, instead } from './mutants.js';
import { storing } from './rollout-mutants.js';
import type { AgentParts } from './variant.js';
import { hearing, listAssigned, within } from './volume-mutants.js';

/** A cache that shows other documents of a range. */
function showing<T>(cache: Cache, range: string, alter: (document: T) => T): Cache {
  const change = (entry: Entry) => entry.withBytes(encode(alter(value<T>(entry))));
  const isOf = ({ key }: Entry) => key.startsWith(range);
  const changeAll = (entries: readonly Entry[]) => entries.map(entry => (isOf(entry) ? change(entry) : entry));
  const one = instead(cache, 'get', key => {
    const entry = cache.get(key);
    return entry && isOf(entry) ? change(entry) : entry;
  });
  const many = instead(one, 'list', prefix => changeAll(cache.list(prefix)));
  return instead(many, 'by', (index, key) => changeAll(cache.by(index, key)));
}

const seeing = <T>(loop: string, range: string, alter: (document: T) => T) =>
  within(loop, env => ({ ...env, cache: showing(env.cache, range, alter) }));

/** The volume keeper, as if agents said something else. */
const believing = (alter: (report: VolumeReport) => VolumeReport) =>
  seeing('volume-keeper', ranges.volumeReports, alter);

const START = Date.UTC(2030, 0, 1);

/** The moment of a copy, with earlier and later changed. */
const mirror = (syncedAt: string): string => new Date(2 * START - Date.parse(syncedAt)).toISOString();

const driving = (alter: (driver: VolumeDriver) => VolumeDriver) => ({
  agent: (parts: AgentParts): AgentParts => ({ ...parts, volumes: alter(parts.volumes!) }),
});

/** Every volume as it was assigned in its first epoch. */
function staysBehind(): (line: AssignmentLine) => AssignmentLine {
  const first = new Map<string, AssignedVolume>();
  return line => {
    const volumes = listAssigned(line)?.map(volume => {
      if (!first.has(volume.id) && volume.replication) first.set(volume.id, volume);
      return (volume.replication?.epoch ?? 1) > 1 ? (first.get(volume.id) ?? volume) : volume;
    });
    return volumes ? ({ ...line, volumes } as AssignmentLine) : line;
  };
}

/** The switch comes with the order. */
function switchEarly(status: VolumeStatus): VolumeStatus {
  const { move, finalFor, primaryNode, ...rest } = status;
  if (move?.to === undefined || finalFor === undefined || primaryNode === undefined) return status;
  const copies = [
    ...rest.copies.filter(({ nodeId }) => nodeId !== move.to),
    { nodeId: primaryNode, state: 'syncing' } as const,
  ];
  return {
    ...rest,
    phase: 'Promoting',
    primaryNode: move.to,
    epoch: finalFor,
    copies,
    move: { ...move, phase: 'Switching' },
  };
}

/** As if the volume were not to move. */
function forgetOrder(status: VolumeStatus): VolumeStatus {
  const { finalFor: _, ...rest } = status;
  return rest;
}

/** What the primary says of the last snapshot counts for its copies too. */
function takeOneForBoth(): (report: VolumeReport) => VolumeReport {
  const told = new Map<string, VolumeReport['final']>();
  return report => {
    if (report.role === 'primary') told.set(report.id, report.final);
    const final = told.get(report.id);
    return final ? { ...report, final } : report;
  };
}

/** A fence that opens with any answer: what was assigned last counts again, however long nobody has answered. */
const opensWithAnyAnswer = (parts: AgentParts): AgentParts => {
  let again = () => undefined as void;
  let latest: ProvenPosition | undefined;
  const note = (store: ProvenPosition) => {
    if (!latest || store.revision > latest.revision) latest = store;
  };
  const hearing = instead(parts.link, 'assignments', (onLine, signal) =>
    parts.link.assignments(line => {
      if (line.type === 'snapshot') {
        note(line.store);
        again = () => onLine({ ...line, store: latest! });
      }
      onLine(line);
    }, signal),
  );
  const link = instead(hearing, 'heartbeat', async beat => {
    const reply = await parts.link.heartbeat(beat);
    note(reply.store);
    parts.clock.after(0, again); // once the answer was noted
    return reply;
  });
  return { ...parts, link };
};

/** A primary that keeps to itself why copies do not come further. */
const tellsNoReasons = (report: VolumeReport): VolumeReport =>
  report.copies ? { ...report, copies: report.copies.map(({ message: _why, ...copy }) => copy) } : report;

/** Mistakes about copies, epochs, promotions and fences that must not go unnoticed. */
export const copyMutants = inMix('copies', [
  {
    mistake: 'a promotion keeps the epoch',
    ...storing<VolumeStatus>('volume-keeper', ranges.volumeStatuses, status =>
      status.phase === 'Promoting' ? { ...status, epoch: (status.epoch ?? 2) - 1 } : status,
    ),
  },
  {
    mistake: 'the stalest copy is promoted',
    ...believing(report => ({ ...report, ...(report.syncedAt && { syncedAt: mirror(report.syncedAt) }) })),
  },
  {
    mistake: 'a copy that is not complete is promoted',
    ...believing(report =>
      report.role === 'replica' && report.syncedAt === undefined
        ? { ...report, syncedAt: '2031-01-01T00:00:00.000Z', syncedEpoch: 1_000 }
        : report,
    ),
  },
  {
    mistake: 'a copy of an earlier epoch is promoted',
    ...believing(report => (report.syncedAt === undefined ? report : { ...report, syncedEpoch: 1_000 })),
  },
  {
    mistake: 'what a node says of its copy is believed without a proof',
    ...believing(report => (report.role === 'replica' ? { ...report, epoch: 9_999_999_999 } : report)),
  },
  {
    mistake: 'a copy goes with what was set aside beside it',
    ...believing(report => ({ ...report, divergent: [] })),
  },
  {
    mistake: 'copies are put where the data may not be',
    ...seeing<StoredNode>('volume-keeper', ranges.nodes, node => ({
      ...node,
      labels: { ...node.labels, [COUNTRY]: 'DE' },
    })),
  },
  {
    mistake: 'what mounts a volume stays behind when a copy is promoted',
    ...seeing<VolumeStatus>('replica-keeper', ranges.volumeStatuses, status => ({ ...status, epoch: 1 })),
  },
  {
    mistake: 'an agent that is cut off lets its containers write',
    agent: parts => ({ ...parts, uptimeMs: () => 0 }),
  },
  {
    mistake: 'nobody stops what writes when its agent is dead',
    agent: parts => ({ ...parts, fencer: { arm: () => Promise.resolve() } }),
  },
  {
    mistake: 'a volume that is promoted stays as it was',
    ...driving(driver => instead(driver, 'promote', () => Promise.resolve())),
  },
  {
    mistake: 'what is sent lacks what was written since',
    ...driving(driver => instead(driver, 'send', (id, name, parent) => driver.send(id, parent ?? name, parent))),
  },
  {
    mistake: 'a former primary does not set aside what it holds',
    ...driving(driver =>
      instead(driver, 'snapshot', (id, name) =>
        name.startsWith('divergent') ? Promise.resolve() : driver.snapshot(id, name),
      ),
    ),
  },
  {
    mistake: 'a volume that was copied once is not copied again',
    ...driving(driver => instead(driver, 'isChanged', () => Promise.resolve(false))),
  },
  {
    mistake: 'a volume moves before its last snapshot is there',
    ...storing<VolumeStatus>('volume-keeper', ranges.volumeStatuses, switchEarly),
  },
  {
    mistake: 'an epoch is ordered twice',
    ...seeing<VolumeStatus>('volume-keeper', ranges.volumeStatuses, ({ lastMove, ...status }) =>
      lastMove ? { ...status, lastMove: { ...lastMove, epoch: 0 } } : status,
    ),
  },
  {
    mistake: 'what mounts a volume that moves is not stopped',
    ...seeing<VolumeStatus>('replica-keeper', ranges.volumeStatuses, forgetOrder),
  },
  {
    mistake: 'a move does not wait until the copy has the last snapshot',
    ...believing(takeOneForBoth()),
  },
  {
    mistake: 'copies are put where nothing reads what the primary sends',
    ...seeing<StoredNode>('volume-keeper', ranges.nodes, node => ({ ...node, volumeDriver: 'btrfs' })),
  },
  { mistake: 'a copy that no path leads to is not replaced', ...believing(tellsNoReasons) },
  { mistake: 'a fence whose time has passed opens with any answer', agent: opensWithAnyAnswer },
  { mistake: 'agents do not hear of a promotion', agent: parts => hearing(staysBehind()).agent(parts) },
  {
    mistake: 'an agent that starts again does not know what its copies are',
    agent: parts => {
      const { disk } = parts;
      const read = (name: string) => (name.startsWith('replication-') ? Promise.resolve(undefined) : disk.read(name));
      return { ...parts, disk: instead(disk, 'read', read) };
    },
  },
]);
