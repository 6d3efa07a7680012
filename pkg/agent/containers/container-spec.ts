import { getStopGrace, type ResourceRequests } from '../../../crds/deployment/index.js';
import { parseCpu, parseMemory } from '../../../crds/grammar/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import type { Secret } from '../../secrets/index.js';
import type { JoinedNetworks } from './networks.js';
import type { ContainerLimits, ContainerMount, ContainerSpec } from '../engine/index.js';

/**
 * `<name>` for the first replica and `<name>.<slot>` for the others: the engine resolves names of containers like aliases,
 * and no deployment name contains a dot. An attempt is `job.<name>.<attempt>`.
 */
function containerName({ deployment, slot, once }: Replica, prefix: string): string {
  return `${prefix}${deployment}${slot === 0 && !once ? '' : `.${slot}`}`;
}

export interface ContainerSpecInput {
  readonly nodeId: string;
  readonly prefix: string;
  readonly restoreEpoch?: number;
  readonly secrets: ReadonlyMap<string, Secret>;
  /** The networks that it joins in the place of the tenant's own. */
  readonly joined?: JoinedNetworks;
  /** What its volumes are here. */
  readonly mounts?: readonly ContainerMount[];
}

/** The container that runs a replica on a node. Requests of cpu and memory inform placement only; `limits` are held. */
export function buildContainerSpec(replica: Replica, parts: ContainerSpecInput): ContainerSpec {
  const { nodeId, prefix, secrets, restoreEpoch = 0, joined, mounts = [] } = parts;
  const { image, entrypoint, command, environment = {}, healthCheck, ports = [] } = replica.template;
  const { user, readOnlyRootFilesystem, resources } = replica.template;
  const { tenant, deployment, deploymentUid, uid, slot, generation, templateHash, resolved } = replica;
  const writes = listWrittenVolumes(replica);
  const stopGraceSeconds = getStopGrace(replica.template);
  const { limits: _limits, ...asked } = resources ?? {};
  const requests = parseLimits(asked);
  return {
    name: containerName(replica, prefix),
    image,
    ...(entrypoint ? { entrypoint } : {}),
    ...(command ? { command } : {}),
    environment,
    secrets,
    ...(healthCheck ? { healthCheck } : {}),
    ports,
    ...(user === undefined ? {} : { user }),
    ...(readOnlyRootFilesystem ? { readOnlyRootFilesystem } : {}),
    ...(resources?.limits ? { limits: parseLimits(resources.limits) } : {}),
    ...(Object.keys(requests).length > 0 && { requests }),
    ...(stopGraceSeconds !== undefined && { stopGraceSeconds }),
    ...(mounts.length > 0 && { mounts }),
    network: `mooring-${tenant}`,
    ...joined,
    alias: deployment,
    owner: {
      nodeId,
      tenant,
      deployment,
      deploymentUid,
      replica: uid,
      slot,
      generation,
      templateHash,
      ...(restoreEpoch > 0 && { restoreEpoch }),
      ...(writes.length > 0 && { writes }),
      ...(resolved && Object.keys(resolved.versions).length > 0 && { secretVersions: resolved.versions }),
    },
  };
}

/** Each container has memory of its own: no other container writes to that. */
function listWrittenVolumes({ template: { volumes = [] } }: Replica): readonly string[] {
  return volumes.filter(({ readOnly, type }) => !readOnly && type !== 'tmpfs').map(({ volumeId }) => volumeId);
}

function parseLimits({ cpu, memory, pids }: NonNullable<ResourceRequests['limits']>): ContainerLimits {
  const [millicores, bytes] = [cpu && parseCpu(cpu), memory && parseMemory(memory)];
  return { ...(millicores && { cpu: millicores }), ...(bytes && { memory: bytes }), ...(pids && { pids }) };
}
