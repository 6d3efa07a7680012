/**
 * Container engines: the drivers that create and run containers for the agent.
 *
 * `Engine` is the one small interface; `DockerEngine`, `KubernetesEngine` and `SimulatedEngine` pass one contract
 * suite (`engine.contract.ts`). Nothing outside a driver's folder (`docker/`, `kubernetes/`) knows how it talks to its engine.
 *
 * The driver fixes the security settings of a container: see `fixedHostConfig` in `docker/docker-container.ts` and
 * `buildPod` in `kubernetes/pod.ts`. When to
 * create, start or remove one is left to the agent.
 *
 * @module
 */
export { DockerEngine } from './docker/docker-engine.js';
export { KubernetesEngine } from './kubernetes/kubernetes-engine.js';
export * from './container-parts.js';
export * from './engine.js';
export { SimulatedEngine } from './simulated-engine.js';
export type { EngineOperation, SimulatedEngineOptions } from './simulated-options.js';
