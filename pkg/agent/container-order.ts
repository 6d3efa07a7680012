import type { Replica } from '../../crds/replica/index.js';
import type { Secret } from '../secrets/index.js';
import type { ContainerOrder } from './engine/index.js';

/** `<name>` for the first replica and `<name>-<slot>` for the others. */
export function containerName({ deployment, slot }: Pick<Replica, 'deployment' | 'slot'>, prefix: string): string {
  return `${prefix}${deployment}${slot === 0 ? '' : `-${slot}`}`;
}

/** What an order takes beside the replica. */
export interface OrderParts {
  readonly nodeId: string;
  readonly prefix: string;
  readonly secrets: ReadonlyMap<string, Secret>;
}

/** What to ask the engine for, to run a replica on a node. Requests of cpu and memory are not limits. */
export function containerOrder(replica: Replica, { nodeId, prefix, secrets }: OrderParts): ContainerOrder {
  const { image, entrypoint, command, environment = {}, healthCheck, ports = [] } = replica.template;
  return {
    name: containerName(replica, prefix),
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
