import type { StoredToken } from '../../crds/tenant/index.js';
import type { Keyring } from './keyring.js';
import type { ParsedToken } from './token-text.js';

/** Whether a token is good, and for the log why not. Callers are told only that it is not. */
export type Verification =
  | { readonly ok: true; readonly token: StoredToken }
  | { readonly ok: false; readonly because: 'unknown' | 'secret' | 'kind' | 'expired' };

/** Compared with when there is no record, so that an unknown id takes as long as a wrong secret. */
const NOBODY = '00'.repeat(32);

/** Decides whether `presented` is the token that `stored` is the record of, at wall time `now`. */
export function verifyToken(
  presented: ParsedToken,
  stored: StoredToken | undefined,
  keyring: Keyring,
  now: number,
): Verification {
  const same = keyring.matches(presented.secret, stored?.digest ?? NOBODY);
  if (!stored) return { ok: false, because: 'unknown' };
  if (!same) return { ok: false, because: 'secret' };
  if (stored.kind !== presented.kind) return { ok: false, because: 'kind' };
  if (!(now < Date.parse(stored.expiresAt))) return { ok: false, because: 'expired' };
  return { ok: true, token: stored };
}
