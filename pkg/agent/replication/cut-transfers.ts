import { isSameTerm, type VolumeTerm } from '../../../crds/volume/index.js';
import type { Cancel, Clock } from '../../clock/index.js';
import { type IncomingTransfer, RESUMABLE_MS, type TransferSource } from './incoming-transfer.js';

interface CutTransfer {
  readonly transfer: IncomingTransfer;
  readonly cancel: Cancel;
}

/** Transfers that were cut, one a volume at most: each until its sender goes on with it, sends something else, or lets the time pass. */
export class CutTransfers {
  readonly #clock: Clock;
  readonly #isAllowed: (source: TransferSource) => boolean;
  readonly #cut = new Map<string, CutTransfer>();
  #isClosed = false;

  constructor(clock: Clock, isAllowed: (source: TransferSource) => boolean) {
    this.#clock = clock;
    this.#isAllowed = isAllowed;
  }

  async keep(transfer: IncomingTransfer): Promise<void> {
    const { volume } = transfer.source;
    if (this.#isClosed || !transfer.describe() || !this.#isAllowed(transfer.source)) return transfer.giveUp();
    this.#cut.set(volume, { transfer, cancel: this.#clock.after(RESUMABLE_MS, () => void this.drop(volume)) });
  }

  find(volume: string, term: VolumeTerm): IncomingTransfer | undefined {
    const { transfer } = this.#cut.get(volume) ?? {};
    return transfer && isSameTerm(transfer.source.term, term) ? transfer : undefined;
  }

  take(volume: string): IncomingTransfer | undefined {
    const { transfer, cancel } = this.#cut.get(volume) ?? {};
    cancel?.();
    this.#cut.delete(volume);
    return transfer;
  }

  async drop(volume: string): Promise<void> {
    await this.take(volume)?.giveUp();
  }

  /** Gives up those that the control plane does not allow any more. */
  check(): void {
    for (const [volume, { transfer }] of this.#cut) if (!this.#isAllowed(transfer.source)) void this.drop(volume);
  }

  close(): void {
    this.#isClosed = true;
    for (const volume of this.#cut.keys()) void this.drop(volume);
  }
}
