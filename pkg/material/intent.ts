/** One new version of one credential. */
export interface IntentWrite {
  /** `<namespace>/<label>`. */
  readonly path: string;
  /** The number that the new version has, or is to have. */
  readonly version: number;
}

/**
 * `intents/<tenant>/<id>`: secret material that is being written beside a record. It holds no values.
 *
 * - `writing`: versions may have been written, the record has not.
 * - `stored`: the record was stored, in the transaction that wrote this; the versions are to become current.
 * - `undoing`: the record can no longer be stored; the versions are to be destroyed.
 */
export interface SecretIntent {
  readonly state: 'writing' | 'stored' | 'undoing';
  readonly tenant: string;
  /** The workload that the material came with. */
  readonly subject: string;
  /** The request that brought it. */
  readonly operation: string;
  readonly at: string;
  readonly writes: readonly IntentWrite[];
}
