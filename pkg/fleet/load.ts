import type { Replica } from '../../crds/replica/index.js';
import type { Totals } from '../placement/index.js';
import { requestsOf } from './requests.js';

/** What replicas come to together. */
export function loadOf(replicas: readonly Replica[]): Totals {
  let cpu = 0;
  let memory = 0;
  for (const { template } of replicas) {
    const requests = requestsOf(template);
    cpu += requests.cpu ?? 0;
    memory += requests.memory ?? 0;
  }
  return { replicas: replicas.length, cpu, memory };
}

/** The sum of several loads. */
export function sumOf(loads: Iterable<Totals>): Totals {
  let sum: Totals = { replicas: 0, cpu: 0, memory: 0 };
  for (const { replicas, cpu, memory } of loads) {
    sum = { replicas: sum.replicas + replicas, cpu: sum.cpu + cpu, memory: sum.memory + memory };
  }
  return sum;
}
