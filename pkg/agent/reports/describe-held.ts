import { hashSpec } from '../../../crds/meta/index.js';
import { type AdvertisedSetBack, lossKinds, SET_BACK_MAX } from '../../../crds/node/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import type { Heartbeat } from '../../link/index.js';
import type { Assignments } from '../assignments.js';
import type { ContainerView } from '../container-view.js';
import type { ContainerStatus } from '../engine/index.js';
import type { NodeVolumes } from '../node-volumes/node-volumes.js';
import type { RestoreGate } from '../membership/restore-gate.js';

export interface HeldParts {
  readonly gate: Pick<RestoreGate, 'ignored' | 'seen' | 'settle'>;
  readonly view: Pick<ContainerView, 'containers' | 'isListed'>;
  readonly assignments: Pick<Assignments, 'wanted'>;
  readonly volumes: Pick<NodeVolumes, 'compare'>;
  /** Containers of nodes that the store does not know, or that this machine was before. */
  readonly findLeftovers: () => Promise<readonly ContainerStatus[]>;
}

/** What servers accept: a name that they refuse would cost the node every heartbeat. */
const CONTAINER = /^[0-9A-Za-z._-]{1,128}\/[0-9]{1,9}$/;
const SECRET = /^[0-9A-Za-z._-]{1,128}\/[0-9A-Za-z._-]{1,128}@[0-9]{1,9}$/;

/**
 * What would become of this node if it did what a store says that was set back; nothing while it does as assigned. Where the
 * declaration of the restore confirms just that, or nothing would go, the agent holds no longer.
 */
export async function describeHeld(parts: HeldParts): Promise<Pick<Heartbeat, 'setBack'>> {
  const { gate, view, volumes } = parts;
  const { ignored, seen } = gate;
  if (!ignored || !view.isListed) return {};
  const containers = view.containers.filter(container => wouldGo(container, ignored.replicas, parts));
  containers.push(...(await parts.findLeftovers()));
  const lists = sortEach({
    containers: containers.map(({ owner }) => `${owner.deployment}/${owner.slot}`).filter(name => CONTAINER.test(name)),
    ...(await volumes.compare(ignored.volumes ?? [])),
    secrets: listSecrets(view.containers, ignored.replicas).filter(text => SECRET.test(text)),
  });
  const digest = hashSpec(lists);
  const isHarmless = lossKinds.every(kind => lists[kind].length === 0);
  if (gate.settle(ignored, { digest, isHarmless })) return {};
  const more = Object.values(lists).reduce((sum, names) => sum + Math.max(0, names.length - SET_BACK_MAX), 0);
  const shown = sortEach(lists, SET_BACK_MAX);
  return { setBack: { ...(seen && { seen }), ...shown, ...(more > 0 && { more }), digest } };
}

/** What was on its way out by orders that were obeyed is no news. */
function wouldGo({ owner }: ContainerStatus, replicas: readonly Replica[], { assignments }: HeldParts): boolean {
  const wanted = assignments.wanted(owner.replica, owner);
  if (wanted === 'retire' || wanted === 'nothing') return false;
  const replica = replicas.find(({ uid }) => uid === owner.replica);
  return !replica || replica.retiringSince !== undefined;
}

/** The latest version that a container has of each credential, without those that the store has written down for the same container. */
function listSecrets(containers: readonly ContainerStatus[], replicas: readonly Replica[]): readonly string[] {
  const latest = new Map<string, number>();
  for (const { owner } of containers) {
    const known = replicas.find(({ uid }) => uid === owner.replica)?.resolved?.versions ?? {};
    for (const [path, version] of Object.entries(owner.secretVersions ?? {})) {
      if (known[path] !== version) latest.set(path, Math.max(version, latest.get(path) ?? 0));
    }
  }
  return [...latest].map(([path, version]) => `${path}@${version}`);
}

type Lists = Omit<AdvertisedSetBack, 'more' | 'digest'>;

function sortEach(lists: Lists, most = Number.POSITIVE_INFINITY): Lists {
  const sorted = Object.entries(lists).map(([kind, names]) => [kind, names.toSorted().slice(0, most)]);
  return Object.fromEntries(sorted) as Lists;
}
