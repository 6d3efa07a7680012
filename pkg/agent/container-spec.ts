import type { Replica } from '../../crds/replica/index.js';
import type { Secret } from '../secrets/index.js';
import type { ContainerSpec, ContainerStatus } from './engine/index.js';

/**
 * `<name>` for the first replica and `<name>-<slot>` for the others. A deployment `web-1` wants the name of the second
 * replica of `web`: whoever comes later gets its uid behind a dot, which stands in no name.
 */
function containerName({ deployment, slot, uid }: Replica, { prefix, others }: ContainerSpecInput): string {
  const name = `${prefix}${deployment}${slot === 0 ? '' : `-${slot}`}`;
  const isTaken = others.some(other => other.name === name && other.owner.deployment !== deployment);
  return isTaken ? `${name}.${uid}` : name;
}

/** What an order takes beside the replica. */
export interface ContainerSpecInput {
  readonly nodeId: string;
  readonly prefix: string;
  /** The containers of the node. */
  readonly others: readonly ContainerStatus[];
  readonly secrets: ReadonlyMap<string, Secret>;
}

/** What to ask the engine for, to run a replica on a node. Requests of cpu and memory are not limits. */
export function buildContainerSpec(replica: Replica, parts: ContainerSpecInput): ContainerSpec {
  const { nodeId, secrets } = parts;
  const { image, entrypoint, command, environment = {}, healthCheck, ports = [] } = replica.template;
  return {
    name: containerName(replica, parts),
    image,
    ...(entrypoint ? { entrypoint } : {}),
    ...(command ? { command } : {}),
    environment,
    secrets,
    ...(healthCheck ? { healthCheck } : {}),
    ports,
    network: `mooring-${replica.tenant}`,
    alias: replica.deployment,
    owner: {
      nodeId,
      tenant: replica.tenant,
      deployment: replica.deployment,
      deploymentUid: replica.deploymentUid,
      replica: replica.uid,
      slot: replica.slot,
      generation: replica.generation,
      templateHash: replica.templateHash,
    },
  };
}
