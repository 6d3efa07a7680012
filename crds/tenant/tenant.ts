import type { QuotaOverrides } from './quotas.js';

/** `tenants/<uuid>`. */
export interface StoredTenant {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  /** The platform's own tenant may place work on the control plane's node. */
  readonly platform: boolean;
  /** Set by the platform where the configured quotas do not fit this tenant. */
  readonly quotas?: QuotaOverrides;
}

/** Whom a token speaks for. */
export type TokenKind = 'tenant' | 'admin' | 'node' | 'join';
/** What a tenant's token may do, each including the one before. */
export type Role = 'viewer' | 'deployer' | 'admin';

/** Everything about a token except its secret, of which only an HMAC is kept. */
export interface StoredToken {
  readonly id: string;
  readonly kind: TokenKind;
  /** Hex of HMAC-SHA-256(pepper, secret). */
  readonly digest: string;
  /** Absent for platform administrators only. */
  readonly tenant?: string;
  readonly role?: Role;
  /** The node a node token speaks for, or the only node name a join token may enrol. */
  readonly node?: string;
  readonly nodeName?: string;
  readonly description: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string;
  /** A join token is used up by one public key, which alone may repeat the enrolment. */
  readonly usedBy?: string;
}
