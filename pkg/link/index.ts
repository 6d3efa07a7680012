/**
 * The link between the control plane and a node's agent.
 *
 * Agents dial out and never hold etcd credentials. What an agent is told is its own assignments; what it says is a
 * heartbeat and reports of its own containers, and one word about another node's container refuses all it said.
 *
 * ## The agent's end
 *
 * `AgentLink` is what an agent needs; `HttpLink` is it over HTTP, `LocalLink` inside one process.
 *
 * ## The server's end
 *
 * Call `defineDeskIndexes(cache)` before the cache is fed, and make one `NodeDesk`. Its methods take a `NodeIdentity`
 * that somebody else has established.
 *
 * Secrets travel once: a replica that refers to some is told only when they are resolved, with a ticket, and
 * `NodeDesk.environment` gives the values for it to the node that is about to make the container.
 *
 * ## What this package leaves to others
 *
 * Tokens, enrolment and HTTP routes are the API's. Pings on an idle stream of assignments are sent by whoever holds
 * the connection.
 *
 * @module
 */
export { labelsChanged } from './advertise.js';
export type { AgentLink } from './agent-link.js';
export type { DeliveryEnv, EnvironmentAnswer } from './deliver-environment.js';
export type { DeskEnv } from './desk-env.js';
export { defineDeskIndexes, REPLICAS_BY_UID } from './desk-indexes.js';
export { environmentRefusal } from './environment-refusal.js';
export { LinkRefusedFault, LinkUnreachableFault } from './faults.js';
export { HttpLink, type HttpLinkOptions } from './http-link.js';
export { LocalLink, type Registrar } from './local-link.js';
export * from './messages.js';
export { NodeDesk } from './node-desk.js';
export type { NodeIdentity } from './node-identity.js';
export type { Intake } from './report-intake.js';
export type { TicketsEnv } from './tickets.js';
export { Tickets } from './tickets.js';
