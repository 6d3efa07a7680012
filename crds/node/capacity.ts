import { Type } from 'typebox';

import type { Alteration } from '../rule/index.js';
import type { Capacity } from './node.js';

/** More than any machine has: 1024 cores, 64 TiB of memory, 4 PiB of disk. */
const MOST: Capacity = { cpu: 1024 * 1000, memory: 64 * 2 ** 40, disk: 4 * 2 ** 50 };

const amount = Type.Integer({ minimum: 0 });

export const capacitySchema = Type.Object(
  { cpu: amount, memory: amount, disk: amount },
  { additionalProperties: false },
);

/** A capacity that a machine can have: an agent that boasts is brought down to it, announced. */
export function clampCapacity(capacity: Capacity): {
  readonly capacity: Capacity;
  readonly alterations: readonly Alteration[];
} {
  const clamped: Capacity = {
    cpu: Math.min(capacity.cpu, MOST.cpu),
    memory: Math.min(capacity.memory, MOST.memory),
    disk: Math.min(capacity.disk, MOST.disk),
  };
  const alterations = (['cpu', 'memory', 'disk'] as const)
    .filter(part => clamped[part] !== capacity[part])
    .map(part => ({
      field: `capacity.${part}`,
      from: capacity[part],
      to: clamped[part],
      why: 'more than a machine has',
    }));
  return { capacity: clamped, alterations };
}
