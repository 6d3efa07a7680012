import type { Change, Guard, Store } from './store.js';
import { encode } from './value.js';

/** A store to be examined, with what the examination needs beside it. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Lets so much time pass. */
  readonly pass: (ms: number) => Promise<void>;
  readonly compact: (revision: number) => Promise<void>;
}

/** Creates a document, if the guards hold. */
export const put = (key: string, document: unknown, ...guards: Guard[]): Change => ({
  guards: [{ key, at: 0 }, ...guards],
  puts: [{ key, bytes: encode(document) }],
  deletes: [],
});
