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
 * Call `defineDispatcherIndexes(cache)` before the cache is fed, and make one `AgentDispatcher`. Its methods take a `NodeIdentity`
 * that somebody else has established.
 *
 * Secrets travel once: a replica that refers to some is told only when they are resolved, with a ticket, and
 * `AgentDispatcher.environment` gives the values for it to the node that is about to make the container.
 *
 * ## What this package leaves to others
 *
 * Tokens, enrolment and HTTP routes are the API's. Pings on an idle stream of assignments are sent by whoever holds
 * the connection.
 *
 * @module
 */
export { toLabelsChangedEvent } from './heartbeat.js';
export type { AgentLink } from './agent-link.js';
export { LinkRefusedFault, LinkUnreachableFault } from './agent-link.js';
export type { EnvironmentResult } from './deliver-environment.js';
export { toEnvironmentRefusal } from './deliver-environment.js';
export type { DeliveryEnv, DispatcherEnv } from './dispatcher-env.js';
export { defineDispatcherIndexes, REPLICAS_BY_UID } from './dispatcher-env.js';
export type { HttpLinkOptions } from './http-link.js';
export { HttpLink } from './http-link.js';
export type { Registrar } from './local-link.js';
export { LocalLink } from './local-link.js';
export * from './messages.js';
export { AgentDispatcher } from './agent-dispatcher.js';
export type { NodeIdentity } from './messages.js';
export type { ReportIntake } from './report-intake.js';
export type { TicketsEnv } from './tickets.js';
export { Tickets } from './tickets.js';
