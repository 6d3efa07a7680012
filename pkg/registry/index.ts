/**
 * Checks whether container registries have an image, on behalf of tenants.
 *
 * A tenant chooses the host that the control plane connects to, so that choice is never trusted: a host must be listed, or
 * have public addresses only; its name is resolved once and the connection goes to exactly those addresses; neither a
 * redirect nor an unknown token server is followed; and a credential is the tenant's own and goes only to its registry. An
 * image counts as absent only when its registry sends the error code of a missing manifest.
 *
 *     const images = new ImageChecker({ settings, credentials, clock });
 *     await images.imageFact(tenant, 'registry.example.com/shop/web:1.4.2');   // 'present'
 *
 * `PullPolicy` holds the pulls of a node's engine to the same rules.
 *
 * It leaves to others where credentials are stored (`RegistryCredentials`), what happens to a deployment whose image is
 * absent or unknown, and pulling.
 *
 * @module
 */
export type { CredentialLookup, RegistryCredentials } from './challenge.js';
export { findRegistryHost } from './image-location.js';
export type { ImageFact } from './image-check.js';
export { ImageChecker, type ImageFacts } from './image-checker.js';
export { addPlatformLogins, type RegistryLogin, RegistryLogins } from './registry-logins.js';
export { PullPolicy, type RegistryRules } from './pull-policy.js';
export { type HostResolver, systemResolver } from './transport.js';
