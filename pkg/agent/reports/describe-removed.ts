import { isDnsLabel } from '../../../crds/grammar/index.js';
import { REMOVED_MAX } from '../../../crds/node/index.js';
import type { Heartbeat } from '../../link/index.js';
import type { RemovedBytes } from '../volumes/index.js';

/** What a heartbeat tells of removed volumes whose bytes are still here; nothing where there are none. */
export function describeRemoved(told: RemovedBytes['told'] = []): Pick<Heartbeat, 'removedVolumes'> {
  if (told.length === 0) return {};
  const latest = told.toReversed().slice(0, REMOVED_MAX);
  const volumes = latest.map(({ name, volume, bytes, until }) => ({
    name,
    ...(volume !== undefined && isDnsLabel(volume) && { volume }), // it was on a disk: what servers refuse would cost the node every heartbeat
    bytes,
    until: new Date(until).toISOString(),
  }));
  const more = told.length - volumes.length;
  return { removedVolumes: { volumes, ...(more > 0 && { more }) } };
}
