/**
 * Asking registries whether they have an image, on behalf of tenants.
 *
 * A tenant chooses whom the control plane connects to, so that choice is never trusted: a host must be listed, or have
 * public addresses only; its name is looked up once and the connection goes to the very addresses that were looked at; nothing is
 * followed, neither a redirect nor a token server that is not known to be the registry's; and a credential is the tenant's
 * own and goes nowhere but to its registry. An image counts as absent only when its registry says so in a registry's words.
 *
 *     const images = new ImageChecker({ settings, credentials, clock });
 *     await images.imageFact(tenant, 'registry.example.com/shop/web:1.4.2');   // 'present'
 *
 * It leaves to others where credentials are kept (`RegistryCredentials`), what becomes of a deployment whose image is
 * absent or unknown, and pulling.
 *
 * @module
 */
export type { CredentialLookup, RegistryCredential, RegistryCredentials } from './challenge.js';
export { noRegistryCredentials } from './challenge.js';
export type { ImageCheckerDeps, ImageFacts } from './image-checker.js';
export { ImageChecker } from './image-checker.js';
export type { HostResolver } from './transport.js';
export type { ImageCheck, ImageFact, RefusedReason, UnreachableReason } from './image-check.js';
export type { RegistrySettings } from './policy.js';
