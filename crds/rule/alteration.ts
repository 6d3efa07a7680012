/** Something the server stored that the client did not send, or did not store although the client sent it. */
export interface Alteration {
  readonly field: string;
  /** What was sent; null for nothing. */
  readonly from: unknown;
  /** What is stored; null for nothing. */
  readonly to: unknown;
  readonly why: string;
}

/** Something that was stored as asked, although it may not do what was meant. */
export interface Warning {
  readonly code: string;
  readonly field: string;
  readonly message: string;
}
