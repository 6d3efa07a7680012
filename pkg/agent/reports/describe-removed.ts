import { isDnsLabel } from '../../../crds/grammar/index.js';
import { REMOVED_MAX } from '../../../crds/node/index.js';
import type { Heartbeat } from '../../link/index.js';
import type { RemovedBytes } from '../volumes/index.js';

/** What a heartbeat reports of removed volumes whose bytes are still here; nothing where there are none. */
export function describeRemoved(removed: RemovedBytes['reported'] = []): Pick<Heartbeat, 'removedVolumes'> {
  if (removed.length === 0) return {};
  const latest = removed.toReversed().slice(0, REMOVED_MAX);
  const volumes = latest.map(({ name, volume, bytes, until }) => ({
    name,
    ...(volume !== undefined && isDnsLabel(volume) && { volume }), // it was on a disk: what servers refuse would cost the node every heartbeat
    bytes,
    until: new Date(until).toISOString(),
  }));
  const more = removed.length - volumes.length;
  return { removedVolumes: { volumes, ...(more > 0 && { more }) } };
}
