/**
 * The link between the control plane and a node's agent.
 *
 * Agents connect to the API server and never hold etcd credentials. An agent receives its own assignments; it sends
 * heartbeats and reports about its own containers. A report in the name of another node refuses the whole batch.
 *
 * `AgentLink` is the interface that an agent uses; `HttpLink` implements it over HTTP.
 *
 * On the server, call `defineDispatcherIndexes(cache)` before the cache is filled, and create one `AgentDispatcher`. Its methods take a
 * `NodeIdentity` that the caller has authenticated.
 *
 * Secrets travel once: a replica that refers to secrets is sent only when they are resolved, with a ticket, and
 * `AgentDispatcher.environment` exchanges the ticket for the values when the node is about to create the container.
 *
 * Tokens, enrolment and HTTP routes belong to the API, which also sends the pings on an idle assignment stream.
 *
 * @module
 */
export * from './agent-run.js';
export { AgentDispatcher } from './agent-dispatcher.js';
export * from './agent-link.js';
export { toEnvironmentRejection } from './deliver-environment.js';
export { defineDispatcherIndexes } from './dispatcher-env.js';
export { toLabelsChangedEvent } from './heartbeat.js';
export { HttpLink } from './http-link.js';
export { type AgentIdentity, NodeHeldFault } from './presence.js';
export { declareRestore, readRestoreEpoch } from './restore-epoch.js';
export { hasLoss, listConfirmed, type NodePreview, previewRestore, type RestorePreview } from './restore-preview.js';
export { REPLICA_ALLOWANCE, ReportBudget } from './report-budget.js';
export * from './request-proof.js';
export { fetchPinnedAuthority, hasPinnedKey, parseJoinToken, toPin } from './server-pin.js';
export { isSetBack, type ProvenPosition, wasSetBack } from './store-history.js';
export { Tickets } from './tickets.js';
