/**
 * A replica: one wanted container.
 *
 * It lives at `replicas/<tenant>/<deployment>/<slot>`. A slot holds at most one replica, so there are never two
 * containers of one slot: a changed deployment retires the replica of a slot, waits until its container is
 * gone, and only then puts a new replica (with a new uid) into the slot.
 *
 * @module
 */
export { containerTemplate, templateHash } from './container-template.js';
export type { ContainerTemplate, DeliveredReference, Replica, ResolvedSecrets } from './replica.js';
export { isResolved } from './replica.js';
