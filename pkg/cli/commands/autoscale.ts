import type { ScalingFigures, ScalingPolicy } from '../../../crds/deployment/index.js';
import { formatBytes, formatCores } from '../../../crds/grammar/index.js';
import type { Alteration, Warning } from '../../../crds/rule/index.js';
import { exitCode, UsageFault } from '../../terminal/index.js';
import { deployments } from '../kinds.js';
import { formatTable } from '../print/table.js';
import { formatDocument, type OutputFormat, stripControls } from '../print/text.js';
import type { Command, Session } from '../session.js';
import { printWrite } from './apply.js';

/** A scaling policy as the server shows it. */
interface ScalingView extends ScalingPolicy {
  readonly deployment: string;
  readonly metadata?: { readonly revision: string };
  readonly status: ScalingFigures & {
    readonly replicas: number;
    readonly base: number;
    readonly message?: string;
    readonly scaledAt?: string;
  };
  readonly current: ScalingFigures & { readonly measuredReplicas: number };
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}

interface AutoscaleInput {
  readonly name: string;
  readonly min?: number;
  readonly max?: number;
  readonly cpu?: number;
  readonly memory?: number;
  readonly stabilization?: string;
  readonly off?: boolean;
  readonly dryRun?: boolean;
}

/** Shows, sets or ends the scaling of a deployment. What is not named stays as it is. */
export const autoscale: Command<AutoscaleInput> = async (session, { name, off, dryRun, ...sent }) => {
  const client = await session.connect();
  const path = `${deployments.path}/${encodeURIComponent(name)}/scaling`;
  const query = dryRun ? { dryRun: 'true' } : {};
  const { min, max, cpu, memory, stabilization } = sent;
  const fields = {
    ...(min !== undefined && { minReplicas: min }),
    ...(max !== undefined && { maxReplicas: max }),
    ...(cpu !== undefined && { targetCpuPercent: cpu }),
    ...(memory !== undefined && { targetMemoryPercent: memory }),
    ...(stabilization !== undefined && { stabilization }),
  };
  const isSetting = Object.keys(fields).length > 0;
  if (off) {
    if (isSetting) throw new UsageFault('--off ends the scaling: it takes no other option.');
    const ended = await client.request<ScalingView>('DELETE', path, { query });
    if (!ended.ok) return session.reportRejection(ended);
    printWrite(session, `deployment/${name}`, ended.value, dryRun ? 'scaling would end' : 'is not scaled any more');
    return exitCode.ok;
  }
  const known = await client.request<ScalingView>('GET', path);
  if (!isSetting) {
    if (!known.ok) return session.reportRejection(known);
    print(session, known.value);
    return exitCode.ok;
  }
  const hasNone = !known.ok && known.rejections[0]?.code === 'scaling_policy_not_found';
  if (!known.ok && !hasNone) return session.reportRejection(known);
  const headers = known.ok ? { 'if-match': `"${known.value.metadata?.revision}"` } : {};
  const body = { ...(known.ok && pickPolicy(known.value)), ...fields };
  const answer = await client.request<ScalingView>('PUT', path, { body, headers, query });
  if (!answer.ok) return session.reportRejection(answer);
  printWrite(session, `deployment/${name}`, answer.value, dryRun ? 'would be scaled' : 'is scaled');
  if (!dryRun) print(session, answer.value);
  return exitCode.ok;
};

function pickPolicy(view: ScalingView): ScalingPolicy {
  const { minReplicas, maxReplicas, targetCpuPercent, targetMemoryPercent, stabilization } = view;
  return {
    minReplicas,
    maxReplicas,
    ...(targetCpuPercent !== undefined && { targetCpuPercent }),
    ...(targetMemoryPercent !== undefined && { targetMemoryPercent }),
    stabilization,
  };
}

function print({ terminal }: Session, view: ScalingView): void {
  const { minReplicas, maxReplicas, stabilization, status, current } = view;
  const show = (now: number | undefined, target: number | undefined) =>
    target === undefined ? '-' : `${now === undefined ? '?' : `${now}%`} of ${target}%`;
  const row = [
    view.deployment,
    `${minReplicas} to ${maxReplicas}`,
    show(current.cpuPercent, view.targetCpuPercent),
    show(current.memoryPercent, view.targetMemoryPercent),
    `${status.replicas} (spec: ${status.base})`,
    stabilization,
    stripControls(status.message ?? 'not looked at yet'),
  ];
  const titles = ['DEPLOYMENT', 'BOUNDS', 'CPU', 'MEMORY', 'REPLICAS', 'STABILIZATION', 'WHY'];
  terminal.out(formatTable(titles, [row], terminal.width));
}

interface Amounts {
  readonly cpu: number;
  readonly memory: number;
}

interface UsageView {
  readonly deployments: readonly {
    readonly name: string;
    readonly replicas: number;
    readonly measuredReplicas: number;
    readonly used: Amounts;
    readonly requestPerReplica: { readonly cpu: number | null; readonly memory: number | null };
  }[];
  readonly nodes: readonly {
    readonly name: string;
    readonly measuredContainers: number;
    readonly used: Amounts | null;
    readonly capacity: Amounts;
  }[];
}

/** Shows what deployments or nodes use. */
export const top: Command<{ readonly what: string; readonly output: OutputFormat }> = async (session, input) => {
  const { what, output } = input;
  if (what !== 'deployments' && what !== 'nodes') throw new UsageFault('top takes "deployments" or "nodes".');
  const client = await session.connect();
  const answer = await client.request<UsageView>('GET', '/api/v1/usage');
  if (!answer.ok) return session.reportRejection(answer);
  const { terminal } = session;
  const { deployments: all, nodes } = answer.value;
  if (output === 'json' || output === 'yaml') {
    terminal.out(await formatDocument({ [what]: answer.value[what] }, output));
    return exitCode.ok;
  }
  if (output === 'name') {
    terminal.out(answer.value[what].map(({ name }) => `${what.slice(0, -1)}/${name}\n`).join(''));
    return exitCode.ok;
  }
  if (what === 'nodes') {
    const rows = nodes.map(({ name, used, capacity, measuredContainers }) => [
      name,
      used ? formatCores(used.cpu) : '-',
      used ? formatShare(used.cpu, capacity.cpu) : '-',
      used ? formatBytes(used.memory) : '-',
      used ? formatShare(used.memory, capacity.memory) : '-',
      String(measuredContainers),
    ]);
    terminal.out(formatTable(['NODE', 'CPU', 'CPU %', 'MEMORY', 'MEMORY %', 'CONTAINERS'], rows, terminal.width));
    return exitCode.ok;
  }
  const rows = all.map(({ name, replicas, measuredReplicas: measured, used, requestPerReplica: request }) => [
    name,
    measured > 0 ? formatCores(used.cpu) : '-',
    measured > 0 ? formatShare(used.cpu, (request.cpu ?? 0) * measured) : '-',
    measured > 0 ? formatBytes(used.memory) : '-',
    measured > 0 ? formatShare(used.memory, (request.memory ?? 0) * measured) : '-',
    `${measured}/${replicas}`,
  ]);
  const titles = ['DEPLOYMENT', 'CPU', '% OF REQUEST', 'MEMORY', '% OF REQUEST', 'MEASURED'];
  terminal.out(formatTable(titles, rows, terminal.width));
  return exitCode.ok;
};

function formatShare(used: number, whole: number): string {
  return whole > 0 ? `${Math.round((used / whole) * 100)}%` : '-';
}
