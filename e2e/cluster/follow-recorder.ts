import { create, type Store } from '../../pkg/store/index.js';
import { pollUntil } from './poll-until.js';

/** A follower of a store that records the changes it receives, in order. */
export interface FollowRecorder {
  readonly keys: ReadonlySet<string>;
  readonly resets: number;
  /** Waits until a revision was received; `progressWriter` writes a key when the revision is none of the followed keys'. */
  reached(revision: number, options?: { readonly progressWriter?: Store }): Promise<void>;
  /** Revisions that were received after later ones, or twice. */
  disorder(): readonly string[];
  close(): Promise<void>;
}

let progressWrites = 0;

export function followAll(store: Store): FollowRecorder {
  const keys = new Set<string>();
  const told: number[] = [];
  const stop = new AbortController();
  let resets = 0;
  let last = 0;
  const running = store.follow(
    {
      onReset: ({ entries, revision }) => {
        resets++;
        keys.clear();
        for (const { key } of entries) keys.add(key);
        told.length = 0;
        last = revision;
      },
      onEvents: events => {
        for (const { key, entry } of events) {
          if (entry) keys.add(key);
          else keys.delete(key);
        }
        last = events[0]!.revision;
        told.push(last);
      },
      onConnected: () => undefined,
    },
    {},
    stop.signal,
  );
  return {
    keys,
    get resets() {
      return resets;
    },
    async reached(revision, { progressWriter } = {}) {
      await pollUntil('a tail to be told', 10_000, async () => (resets > 0 ? true : undefined));
      if (progressWriter && last < revision) await create(progressWriter, `progress/${++progressWrites}`, {});
      await pollUntil(`revision ${revision} to be told`, 30_000, async () => (last >= revision ? true : undefined));
    },
    disorder: () =>
      told.flatMap((revision, n) => (n > 0 && revision <= told[n - 1]! ? [`${revision} after ${told[n - 1]}`] : [])),
    close: async () => {
      stop.abort();
      await running;
    },
  };
}
