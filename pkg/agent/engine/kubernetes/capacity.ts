import { EngineUnsupportedFault } from '../engine.js';
import { parseQuantity } from './quantity.js';

/** The fields that we read of a ResourceQuota. */
export interface ResourceQuota {
  readonly spec?: { readonly hard?: Readonly<Record<string, string>>; readonly scopes?: readonly string[] };
}

/** What the node has: cpu in thousandths of a core, memory in bytes. */
export interface ClusterCapacity {
  readonly cpu: number;
  readonly memory: number;
}

/** What the quotas of a namespace leave it at most: the smallest of each; a quota of some Pods only says nothing of all. */
export function readCapacity(quotas: readonly ResourceQuota[], namespace: string): ClusterCapacity {
  const whole = quotas.flatMap(({ spec }) => (spec?.hard && !spec.scopes?.length ? [spec.hard] : []));
  const least = (kind: 'cpu' | 'memory') => {
    const texts = whole.flatMap(hard => [hard[`requests.${kind}`], hard[kind], hard[`limits.${kind}`]]);
    return Math.min(...texts.flatMap(text => (text === undefined ? [] : (parseQuantity(text) ?? []))));
  };
  const [cores, memory] = [least('cpu'), least('memory')];
  if (Number.isFinite(cores) && Number.isFinite(memory)) {
    return { cpu: Math.floor(cores * 1000), memory: Math.floor(memory) };
  }
  throw new EngineUnsupportedFault(
    `the namespace ${namespace} has no ResourceQuota of cpu and memory: create one, or start the agent with --capacity`,
  );
}
