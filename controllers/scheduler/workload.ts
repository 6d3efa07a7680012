import { cpuMillis, memoryBytes } from '../../crds/grammar/index.js';
import type { ContainerTemplate, Replica } from '../../crds/replica/index.js';
import type { Amounts, Workload } from '../../pkg/placement/index.js';

/** What one replica asks of a node. */
export function workloadOf(replica: Replica, platform: boolean): Workload {
  return {
    tenant: replica.tenant,
    platform,
    ...(replica.namedNode !== undefined && { namedNode: replica.namedNode }),
    requests: requestsOf(replica.template),
    hostPorts: hostPortsOf(replica.template),
  };
}

/** The requests of a template in numbers. Admission has refused what cannot be read, so nothing is lost here. */
export function requestsOf({ resources }: ContainerTemplate): Partial<Amounts> {
  const cpu = resources?.cpu === undefined ? undefined : cpuMillis(resources.cpu);
  const memory = resources?.memory === undefined ? undefined : memoryBytes(resources.memory);
  return { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
}

/** The host ports of a template, each as `80/tcp`. */
export function hostPortsOf({ ports = [] }: ContainerTemplate): readonly string[] {
  return ports.flatMap(({ hostPort, protocol }) => (hostPort === undefined ? [] : [`${hostPort}/${protocol}`]));
}
