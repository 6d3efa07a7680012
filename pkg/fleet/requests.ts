import type { Deployment } from '../../crds/deployment/index.js';
import { parseCpu, parseMemory } from '../../crds/grammar/index.js';
import type { Amounts } from '../placement/index.js';

/** The requests of a template in numbers. Admission has refused what cannot be read, so nothing is lost here. */
export function requestsOf({ resources }: Pick<Deployment, 'resources'>): Partial<Amounts> {
  const cpu = resources?.cpu === undefined ? undefined : parseCpu(resources.cpu);
  const memory = resources?.memory === undefined ? undefined : parseMemory(resources.memory);
  return { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
}

/** The host ports of a template, each as `80/tcp`. */
export function hostPortsOf({ ports = [] }: Pick<Deployment, 'ports'>): readonly string[] {
  return ports.flatMap(({ hostPort, protocol }) => (hostPort === undefined ? [] : [`${hostPort}/${protocol}`]));
}
