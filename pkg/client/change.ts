import type { Refusal } from './answer.js';

/** One line of a tail, as its reader gets it. */
export type Change<T> =
  | { readonly type: 'added' | 'modified' | 'deleted'; readonly cursor: string; readonly object: T }
  /** Everything up to here has been delivered. The first one ends the list of what existed at the start. */
  | { readonly type: 'bookmark'; readonly cursor: string }
  /** The server will not have this watch. Nothing follows. */
  | { readonly type: 'refused'; readonly refusal: Refusal };

/** One line of a tail, as the server sends it. */
export interface Line<T> {
  readonly type: string;
  readonly cursor: string;
  readonly object: T;
}
