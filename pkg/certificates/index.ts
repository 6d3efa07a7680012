/**
 * X.509 certificates for parts that we run ourselves: an authority, and servers and clients that it vouches for.
 *
 * Node signs and verifies but cannot issue, so `der.ts` and `issue.ts` encode the one form of certificate that we need
 * (ECDSA on P-256, or Ed25519 for a key that vouches for itself; RFC 5280). Nothing here verifies a peer: that is for TLS. `CertificateFolder` keeps them as files,
 * and `parts.ts` says which certificate each part of a control plane has.
 *
 * @module
 */
export {
  type CertificateFiles,
  CertificateFolder,
  readCertificates,
} from './certificate-folder.js';
export { issueOwnCertificate } from './issue.js';
export { issueEtcdClient, issueEtcdMember, issueServer, openAuthority } from './parts.js';
