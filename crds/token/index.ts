/**
 * Tokens as a kind: how they are named, listed and minted over the API. Their record and its rules are in `crds/tenant`.
 *
 * @module
 */
export { tokenKind } from './kind.js';
