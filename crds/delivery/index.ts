/**
 * How a container gets its secrets, or why it does not.
 *
 * A deployment whose references do not all resolve has a record at `unresolved/<tenant>/<deployment>`, for as long as the
 * cause stands. An agent that is about to make a container asks for its variables with a ticket, once; who was given what,
 * in numbers, is kept at `deliveries/<tenant>/<deployment>/<replica>`. No record here has a place for a value.
 *
 *     const checked = checkEnvironmentRequest(document);
 *
 * Looking up secrets is for `pkg/secrets`, tickets are for `pkg/link`.
 *
 * @module
 */
export type { Delivery, DeliveryUse } from './delivery.js';
export type { EnvironmentRequest } from './request.js';
export { checkEnvironmentRequest, environmentRequestSchema } from './request.js';
export type { Unresolved, UnresolvedReason } from './unresolved.js';
