import type { Role, StoredToken, TokenKind } from '../../crds/tenant/index.js';

/** Who is calling, as the token proved it. */
export interface Caller {
  readonly kind: TokenKind | 'nobody';
  /** Public id of the token: what logs and archives name. */
  readonly id: string;
  readonly tenant: string | undefined;
  readonly role: Role | undefined;
  readonly token: StoredToken | undefined;
}

/** Whoever calls an open route. */
export const nobody: Caller = { kind: 'nobody', id: '', tenant: undefined, role: undefined, token: undefined };

const RANK: Readonly<Record<Role, number>> = { viewer: 1, deployer: 2, admin: 3 };

/** Whether one role includes another. */
export function includesRole(held: Role | undefined, needed: Role): boolean {
  return held !== undefined && RANK[held] >= RANK[needed];
}
