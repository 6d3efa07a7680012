import { formatBytes, formatCores } from '../../crds/grammar/index.js';
import type { NodeView } from './views.js';

/** How much of something is taken. */
export interface CapacityBar {
  readonly label: string;
  readonly percent: number;
  readonly text: string;
}

/** What replicas request of the nodes, of those that can take work. */
export function summariseCapacity(nodes: Iterable<NodeView>): readonly CapacityBar[] {
  let [cpu, cpuFree, memory, memoryFree] = [0, 0, 0, 0];
  for (const { capacity, free } of nodes) {
    cpu += capacity.cpu;
    cpuFree += free.cpu;
    memory += capacity.memory;
    memoryFree += free.memory;
  }
  return [
    toBar('CPU', cpu - cpuFree, cpu, formatCores, ' cores'),
    toBar('Memory', memory - memoryFree, memory, formatBytes, ''),
  ];
}

function toBar(
  label: string,
  used: number,
  all: number,
  format: (amount: number) => string,
  unit: string,
): CapacityBar {
  const percent = all > 0 ? Math.min(100, Math.max(0, Math.round((used / all) * 100))) : 0;
  return { label, percent, text: `${format(used)} of ${format(all)}${unit} requested` };
}
