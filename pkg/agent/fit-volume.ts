import type { AssignedVolume, SeenVolume } from '../../crds/volume/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { normaliseMessage } from './normalise-message.js';
import { roundSize, type VolumeDriver } from './volumes/index.js';

/** What is told of the size of a volume. */
type SeenSize = Pick<SeenVolume, 'capacityBytes' | 'targetBytes' | 'message'>;

/** Brings a volume that is there to the size that is asked for. One that cannot have it keeps its own, and is used as it is. */
export async function fitVolume(
  driver: Pick<VolumeDriver, 'describe' | 'resize'>,
  { id, sizeBytes: targetBytes }: Pick<AssignedVolume, 'id' | 'sizeBytes'>,
  heldBytes: number,
  log: Logger,
): Promise<SeenSize> {
  const fitting = [targetBytes, roundSize(targetBytes, driver.describe())];
  if (fitting.includes(heldBytes)) return { capacityBytes: heldBytes, targetBytes };
  try {
    const { sizeBytes: capacityBytes } = await driver.resize(id, targetBytes);
    log.info('a volume was resized', { volume: id, because: `${targetBytes} bytes were asked for` });
    return { capacityBytes, targetBytes };
  } catch (thrown) {
    const error = asError(thrown);
    log.warn('a volume cannot be resized, retrying', { volume: id, error });
    return { capacityBytes: heldBytes, targetBytes, message: normaliseMessage(error.message) };
  }
}
