/**
 * Tokens: how a caller says who it is.
 *
 * A token is `<prefix><public id>_<secret><checksum>`. The public id is what logs, lists and revocation use; of the
 * secret only an HMAC is kept, under a pepper that is never in the store, so a stolen snapshot opens nothing.
 *
 * `mintToken` makes one and its record; the text is shown once and kept nowhere. `parseToken` refuses typing errors
 * without a look-up. `verifyToken` compares in constant time, also when there is no record to compare with.
 *
 * It leaves to others where records are stored, what a role may do, and how often somebody may try.
 *
 * @module
 */
export {
  ExposedKeyFileFault,
  KEY_BYTES,
  Keyring,
  loadKeyring,
  loadKeys,
  openKeyring,
  openKeys,
  UnusableKeyFileFault,
} from './keyring.js';
export type { MintedToken, ParsedToken, TokenDraft, Verification } from './token.js';
export { formatToken, mintToken, parseToken, verifyToken } from './token.js';
