import type { StoredToken } from '../../crds/tenant/index.js';
import type { Clock, Random } from '../clock/index.js';
import type { Keyring } from './keyring.js';
import { formatToken, parseToken } from './token-text.js';

/** What is decided about a token before it exists. */
export type TokenDraft = Omit<StoredToken, 'id' | 'digest' | 'createdAt' | 'expiresAt' | 'usedBy'> & {
  readonly lifeSeconds: number;
};

/** A new token: the text, which is shown once, and the record, which never holds its secret. */
export interface MintedToken {
  readonly text: string;
  readonly stored: StoredToken;
}

const ID_BYTES = 12;
const SECRET_BYTES = 32;

/** Makes a token. Two calls never make the same one. */
export function mintToken(
  { lifeSeconds, ...draft }: TokenDraft,
  { keyring, clock, random }: { readonly keyring: Keyring; readonly clock: Clock; readonly random: Random },
): MintedToken {
  const text = formatToken(draft.kind, random.bytes(ID_BYTES), random.bytes(SECRET_BYTES));
  const { id, secret } = parseToken(text)!;
  const now = clock.now();
  const stored: StoredToken = {
    ...draft,
    id,
    digest: keyring.digest(secret),
    createdAt: new Date(now).toISOString(),
    expiresAt: new Date(now + lifeSeconds * 1000).toISOString(),
  };
  return { text, stored };
}
