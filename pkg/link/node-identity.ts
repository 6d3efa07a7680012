/** The node that a token speaks for. */
export interface NodeIdentity {
  readonly tenant: string;
  readonly id: string;
  readonly name: string;
}
