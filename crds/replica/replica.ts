import type { HealthCheck, Port, ResourceRequests } from '../deployment/index.js';

/** Everything a container is made from. Two replicas with equal templates are interchangeable. */
export interface ContainerTemplate {
  readonly image: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthCheck?: HealthCheck;
  readonly ports?: readonly Port[];
  readonly resources?: ResourceRequests;
  readonly secretsVersion: number;
}

/** `replicas/<tenant>/<deployment>/<slot>`. */
export interface Replica {
  readonly uid: string;
  readonly tenant: string;
  readonly deployment: string;
  readonly deploymentUid: string;
  readonly slot: number;
  /** The generation of the deployment that this replica was made for. */
  readonly generation: number;
  /** Hash of the template and of what else forces a new container. */
  readonly templateHash: string;
  readonly template: ContainerTemplate;
  /** The deployment's own wish for a node, if it had one. */
  readonly namedNode?: string;
  /** Written once, by the scheduler. */
  readonly nodeId?: string;
  readonly createdAt: string;
  /** Set by the replica keeper: the container is to be stopped and removed. Never unset. */
  readonly retiringSince?: string;
}
