import { SET_BACK_MAX } from '../../crds/node/index.js';
import type { Heartbeat } from '../link/index.js';
import type { ContainerView } from './container-view.js';
import type { NodeVolumes } from './node-volumes.js';
import type { RestoreGate } from './restore-gate.js';

interface HeldParts {
  readonly gate: Pick<RestoreGate, 'ignored' | 'seen'>;
  readonly view: Pick<ContainerView, 'containers'>;
  readonly volumes: Pick<NodeVolumes, 'compare'>;
}

/** What servers accept as the name of a container: one that they refuse would cost the node every heartbeat. */
const CONTAINER = /^[0-9A-Za-z._-]{1,128}\/[0-9]{1,9}$/;

/** What would become of this node if it did what a store says that was set back; nothing while it does what it is told. */
export async function describeHeld({ gate, view, volumes }: HeldParts): Promise<Pick<Heartbeat, 'setBack'>> {
  const { ignored, seen } = gate;
  if (!ignored) return {};
  const known = new Set(ignored.replicas.map(({ uid }) => uid));
  const containers = view.containers
    .filter(({ owner }) => !known.has(owner.replica))
    .map(({ owner }) => `${owner.deployment}/${owner.slot}`)
    .filter(name => CONTAINER.test(name));
  const { newer, removed, unknown } = await volumes.compare(ignored.volumes ?? []);
  const lists = { containers, newer, removed, unknown };
  const more = Object.values(lists).reduce((sum, names) => sum + Math.max(0, names.length - SET_BACK_MAX), 0);
  const first = (names: readonly string[]) => names.toSorted().slice(0, SET_BACK_MAX);
  const shown = {
    containers: first(containers),
    newer: first(newer),
    removed: first(removed),
    unknown: first(unknown),
  };
  return { setBack: { ...(seen && { seen }), ...shown, ...(more > 0 && { more }) } };
}
