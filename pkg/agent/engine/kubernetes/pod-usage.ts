import type { ContainerUsage } from '../engine.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { parseQuantity } from './quantity.js';

interface PodMetrics {
  readonly timestamp?: string;
  readonly containers?: readonly { readonly usage?: { readonly cpu?: string; readonly memory?: string } }[];
}

interface Reading {
  readonly at: number;
  readonly cpuNanos: number;
}

const READINGS_MAX = 10_000;

/** What Pods use, where the cluster has a metrics server. It reports the rate of cpu time: the sum is made here. */
export class PodUsage {
  readonly #api: KubernetesApi;
  readonly #readings = new Map<string, Reading>();

  constructor(api: KubernetesApi) {
    this.#api = api;
  }

  async read(uid: string, name: string): Promise<ContainerUsage | undefined> {
    const path = await this.#api.path(`pods/${name}`, '/apis/metrics.k8s.io/v1beta1');
    const { status, body } = await this.#api.call<PodMetrics>('GET', path, { expected: [403, 404, 500, 503] });
    if (status !== 200 || !body?.containers) return undefined;
    const sum = (kind: 'cpu' | 'memory') =>
      body.containers!.reduce((all, { usage }) => all + (parseQuantity(usage?.[kind] ?? '') ?? 0), 0);
    return {
      cpuNanos: this.#count(uid, sum('cpu'), Date.parse(body.timestamp ?? '')),
      memory: Math.round(sum('memory')),
    };
  }

  /** Adds what was used since the last reading, at the rate that is reported now. */
  #count(uid: string, cores: number, at: number): number {
    const last = this.#readings.get(uid);
    if (Number.isNaN(at)) return last?.cpuNanos ?? 0;
    const passedMs = last ? Math.max(0, at - last.at) : 0;
    const cpuNanos = Math.round((last?.cpuNanos ?? 0) + cores * passedMs * 1e6);
    if (!last && this.#readings.size >= READINGS_MAX) this.#readings.clear();
    this.#readings.set(uid, { at: Math.max(at, last?.at ?? at), cpuNanos });
    return cpuNanos;
  }
}
