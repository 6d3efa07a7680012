import type { ContainerUsage } from '../engine.js';
import type { DockerApi } from './docker-api.js';

/** The fields that we read of `GET /containers/{id}/stats`. */
interface ContainerStats {
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: { readonly usage?: number; readonly stats?: Readonly<Record<string, number>> };
}

/**
 * What a container uses. One reading, which the engine takes within a second: without `one-shot` it would take two. A container that
 * does not run has no figures.
 */
export async function readStats(api: DockerApi, id: string): Promise<ContainerUsage | undefined> {
  const query = { stream: 'false', 'one-shot': 'true' };
  const path = `/containers/${id}/stats`;
  const { status, body } = await api.call<ContainerStats>('GET', path, { query, expected: [404, 409] });
  const cpuNanos = body?.cpu_stats?.cpu_usage?.total_usage;
  const { usage, stats = {} } = body?.memory_stats ?? {};
  if (status !== 200 || cpuNanos === undefined || usage === undefined) return undefined;
  // Cached files can be dropped at once; cgroups of the first version name them differently.
  const cached = stats['inactive_file'] ?? stats['total_inactive_file'] ?? 0;
  return { cpuNanos, memory: Math.max(0, usage - cached) };
}
