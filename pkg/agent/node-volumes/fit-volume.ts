import type { AssignedVolume, SeenVolume } from '../../../crds/volume/index.js';
import type { Clock } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import type { Logger } from '../../log/index.js';
import { normaliseMessage } from '../normalise-message.js';
import { roundSize, type VolumeDriver } from '../volumes/index.js';

/** What is reported of the size of a volume. */
type SeenSize = Pick<SeenVolume, 'capacityBytes' | 'targetBytes' | 'message'>;

/** How soon a size is tried again that was refused, the first time and at most. */
const FIRST_MS = 5_000;
const LAST_MS = 600_000;
/** How long steps of a shrink are taken without a word. */
const STEPS_MS = 10_000;

interface FailedResize {
  readonly targetBytes: number;
  readonly heldBytes: number;
  readonly message: string;
  readonly tries: number;
  readonly dueAt: number;
  /** What the volume held: when it holds less, a size may be possible that was not. */
  readonly usedBytes: number;
}

/**
 * Brings volumes that are there to the sizes that are asked for. One that cannot have its size keeps its own and is used as it is; it is
 * tried again ever more seldom, since a shrink may move everything that a volume holds before it fails.
 */
export class VolumeFitter {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #failed = new Map<string, FailedResize>();

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Goes on for a while at most. Where more is to come, the target is the size that was reached. */
  async fit(
    driver: Pick<VolumeDriver, 'describe' | 'resize'>,
    { id, sizeBytes: targetBytes }: Pick<AssignedVolume, 'id' | 'sizeBytes'>,
    heldBytes: number,
    usedBytes = 0,
  ): Promise<SeenSize> {
    const wanted = roundSize(targetBytes, driver.describe());
    const isFitting = (size: number) => size === targetBytes || size === wanted;
    if (isFitting(heldBytes)) {
      this.#failed.delete(id);
      return { capacityBytes: heldBytes, targetBytes };
    }
    const known = this.#findFailure(id, { targetBytes, heldBytes, usedBytes });
    if (known && this.#clock.now() < known.dueAt) {
      return { capacityBytes: heldBytes, targetBytes, message: known.message };
    }
    const until = this.#clock.now() + STEPS_MS;
    let capacityBytes = heldBytes;
    try {
      do ({ sizeBytes: capacityBytes } = await driver.resize(id, targetBytes));
      while (!isFitting(capacityBytes) && this.#clock.now() < until);
      this.#failed.delete(id);
      this.#log.info('a volume was resized', { volume: id, because: `${targetBytes} bytes were asked for` });
      return { capacityBytes, targetBytes: isFitting(capacityBytes) ? targetBytes : capacityBytes };
    } catch (thrown) {
      const error = asError(thrown);
      const message = normaliseMessage(error.message);
      const tries = (known?.tries ?? 0) + 1;
      const dueAt = this.#clock.now() + Math.min(FIRST_MS * 2 ** (tries - 1), LAST_MS);
      this.#failed.set(id, { targetBytes, heldBytes: capacityBytes, usedBytes, message, tries, dueAt });
      this.#log.warn('a volume cannot be resized, retrying', { volume: id, error });
      return { capacityBytes, targetBytes, message };
    }
  }

  /** In how long a refused size is to be tried again; undefined where none was refused. */
  findWait(id: string): number | undefined {
    const { dueAt } = this.#failed.get(id) ?? {};
    return dueAt === undefined ? undefined : Math.max(0, dueAt - this.#clock.now());
  }

  forget(isKept: (id: string) => boolean): void {
    for (const id of this.#failed.keys()) if (!isKept(id)) this.#failed.delete(id);
  }

  #findFailure(
    id: string,
    now: Pick<FailedResize, 'targetBytes' | 'heldBytes' | 'usedBytes'>,
  ): FailedResize | undefined {
    const known = this.#failed.get(id);
    const isSame = known?.targetBytes === now.targetBytes && known.heldBytes === now.heldBytes;
    return isSame && now.usedBytes >= known.usedBytes ? known : undefined;
  }
}
