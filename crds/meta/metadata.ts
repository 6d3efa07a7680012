/** Who an object is. Set by the server; what a client sends here is ignored and announced. */
export interface Metadata {
  readonly tenant: string;
  /** Told apart from an earlier object of the same name by this. */
  readonly uid: string;
  /** Counts the accepted changes of what is asked for. Starts at 1. */
  readonly generation: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly specHash: string;
  /** Set once deletion was asked for: the object stays until everything it stood for is gone. */
  readonly deletedAt?: string;
}
