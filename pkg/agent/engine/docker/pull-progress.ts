import type { PullProgress } from '../../../../crds/report/index.js';
import { readDocuments } from '../../../ndjson/index.js';
import type { OnPullProgress } from '../container-parts.js';
import { toPullFault } from './pull-failure.js';

/** Reads what the engine says while it pulls, to the end. Throws what it fails with. */
export async function followPull(
  stream: Parameters<typeof readDocuments>[0],
  onProgress: OnPullProgress | undefined,
): Promise<void> {
  const counter = new PullCounter();
  for await (const line of readDocuments(stream)) {
    const { error } = line as { readonly error?: string };
    if (error !== undefined) throw toPullFault(error);
    onProgress?.(counter.take(line));
  }
}

interface Layer {
  readonly received: number;
  readonly total: number;
}

/** Sums up what the engine says of each layer while it pulls. Layers that it has are not reported, nor counted. */
export class PullCounter {
  readonly #layers = new Map<string, Layer>();
  #received = 0;
  #total = 0;

  /** Takes one line of the stream; gives how far the pull is, once a size is known. */
  take(line: unknown): PullProgress | undefined {
    const { id, status, progressDetail } = (line ?? {}) as PullLine;
    if (typeof id === 'string') this.#note(id, status, progressDetail ?? {});
    return this.#total > 0 ? { receivedBytes: this.#received, totalBytes: this.#total } : undefined;
  }

  #note(id: string, status: unknown, { current, total }: NonNullable<PullLine['progressDetail']>): void {
    const known = this.#layers.get(id);
    if (status === 'Download complete' && known) return this.#set(id, { ...known, received: known.total });
    if (status !== 'Downloading' || !isCount(current) || !isCount(total)) return;
    // A retry reports what is left, or starts over: what has arrived once is not taken back.
    const whole = Math.max(total, known?.total ?? 0);
    const before = known?.received ?? 0;
    // That all has arrived is also said of a download that breaks off: only its completion counts.
    const received = current < total ? Math.max(whole - total + current, before) : before;
    this.#set(id, { received, total: whole });
  }

  #set(id: string, layer: Layer): void {
    const known = this.#layers.get(id);
    this.#layers.set(id, layer);
    this.#received += layer.received - (known?.received ?? 0);
    this.#total += layer.total - (known?.total ?? 0);
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** One line of `POST /images/create`, as far as it is read. */
interface PullLine {
  readonly id?: unknown;
  readonly status?: unknown;
  readonly progressDetail?: { readonly current?: unknown; readonly total?: unknown } | null;
}
