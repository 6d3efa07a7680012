/**
 * The link between the control plane and a node's agent.
 *
 * Agents dial out and never hold etcd credentials. What an agent is told is its own assignments; what it says is a
 * heartbeat and reports of its own containers.
 *
 * @module
 */
export * from './messages.js';
