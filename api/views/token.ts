import type { StoredToken } from '../../crds/tenant/index.js';

/** A token as clients see it: everything about it but the digest. */
export type TokenView = Omit<StoredToken, 'digest' | 'usedBy'> & { readonly used?: boolean };

export function tokenView(stored: StoredToken): TokenView {
  const { digest: _, usedBy, ...token } = stored;
  return token.kind === 'join' ? { ...token, used: usedBy !== undefined } : token;
}
