/**
 * Tokens: how a caller authenticates.
 *
 * A token is `<prefix>_<public id>_<secret><checksum>`. Logs, lists and revocation use the public id; of the secret only an
 * HMAC is stored, with a pepper that is never in etcd, so a stolen etcd snapshot contains no usable token.
 *
 * `mintToken` creates a token and its record; the text is shown once and stored nowhere. `parseToken` refuses typing
 * errors without a look-up. `verifyToken` compares in constant time, also when there is no record.
 *
 * It leaves to others where records are stored, what a role may do, and rate limits.
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
