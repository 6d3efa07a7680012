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
  /** `residency_no_matching_node`: what the tenant's nodes report instead. */
  readonly advertised?: readonly string[];
}

/** Notes one difference between what was sent and what is to be stored. */
export type Announce = (field: { toString(): string }, from: unknown, to: unknown, why: string) => void;

/** A list of alterations, and the function that adds to it. */
export function recordAlterations(): { readonly alterations: readonly Alteration[]; readonly announce: Announce } {
  const alterations: Alteration[] = [];
  const announce: Announce = (field, from, to, why) => {
    alterations.push({ field: field.toString(), from: from ?? null, to: to ?? null, why });
  };
  return { alterations, announce };
}
