import type { StoredDeployment } from '../../crds/deployment/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { explainDeployment } from '../../pkg/fleet/index.js';
import { value } from '../../pkg/store/index.js';
import type { BenchResult } from './report.js';
import { interleave, median, ratio } from './rounds.js';
import { createExplainedState, type Placing, placeAll, policy } from './scheduler-state.js';

/** Placements a second of CPU time that are asked for. */
const ASKED_PER_CPU_SECOND = 2_000;
const EXPLAINED_WITHIN_MS = 1_000;
/** What one request to etcd may hold. */
const STORED_AT_MOST = 1.5 * 2 ** 20;

const placeFleet = (nodesEach: number, deploymentsEach: number, replicas: number) => () =>
  placeAll({ tenants: 1, nodesEach, deploymentsEach, replicas });

const perCpuSecond = ({ placed, cpuSeconds }: Placing) => placed / cpuSeconds;

/**
 * W3: 10,000 replicas placed by the real loop on a store in memory, with residency, a label constraint, anti-affinity and
 * requests, over the CPU time of everything that the process does for it. And all that 10,000 nodes have to say.
 */
export async function measureScheduling(rounds: number): Promise<BenchResult[]> {
  const cells = await interleave<'small' | 'middle' | 'large' | 'single' | 'tenants', Placing>(rounds, {
    small: placeFleet(1_000, 1_000, 10),
    middle: placeFleet(5_000, 1_000, 10),
    large: placeFleet(10_000, 1_000, 10),
    single: placeFleet(5_000, 10_000, 1),
    tenants: () => placeAll({ tenants: 1_000, nodesEach: 10, deploymentsEach: 2, replicas: 5 }),
  });
  const rates = (of: readonly Placing[]) => of.map(perCpuSecond);
  const asked = cells.middle.map(() => ASKED_PER_CPU_SECOND);
  return [
    floored('W3', '5,000 nodes: placements a CPU second, over 2,000', cells.middle, ratio(rates(cells.middle), asked)),
    floored('W3', 'the same, one replica a deployment', cells.single, ratio(rates(cells.single), asked)),
    floored('W3', '1,000 tenants with 10 nodes each', cells.tenants, ratio(rates(cells.tenants), asked)),
    {
      ...floored('W3b', '', cells.large, ratio(rates(cells.large), rates(cells.middle))),
      what: '10,000 nodes over 5,000',
      floor: 0.67,
      target: 0.95,
    },
    {
      ...floored('W3b', '', cells.small, ratio(rates(cells.large), rates(cells.small))),
      what: '10,000 nodes over 1,000',
      floor: 0.4,
      target: 0.75,
    },
    ...(await explaining(rounds)),
  ];
}

function floored(workload: string, what: string, cells: readonly Placing[], found: BenchResult['ratio']): BenchResult {
  const figures =
    `${median(cells.map(perCpuSecond)).toFixed(0)} placements a CPU second; 10,000 placed in ` +
    `${median(cells.map(({ seconds }) => seconds)).toFixed(1)} s; ` +
    `${median(cells.map(({ heapMebibytes }) => heapMebibytes)).toFixed(0)} MiB of heap`;
  return { workload, what, ratio: found, floor: 1, target: 3, larger: true, figures };
}

/** Every node of 10,000 with every reason: as the scheduler stores it, and as the API answers it live. */
async function explaining(rounds: number): Promise<BenchResult[]> {
  const { cache, deployment, toldMs, stop } = await createExplainedState(10_000);
  const [event] = cache
    .list(ranges.events)
    .filter(entry => value<StoredEvent>(entry).type === 'deployment.unschedulable');
  const bytes = event?.bytes.length ?? Number.NaN;
  const live = Array.from({ length: rounds }, () => explainedIn(deployment, cache));
  stop();
  const against = (amounts: readonly number[], limit: number) =>
    ratio(
      amounts,
      amounts.map(() => limit),
    );
  const common = { workload: 'W3d', floor: 1, larger: false };
  return [
    {
      ...common,
      what: 'why 10,000 nodes refuse, from the deployment until the event is stored, over 1 s',
      ratio: against([toldMs], EXPLAINED_WITHIN_MS),
      target: 0.5,
      figures: `${toldMs.toFixed(0)} ms`,
    },
    {
      ...common,
      what: 'the same, live for the API, over 1 s',
      ratio: against(live, EXPLAINED_WITHIN_MS),
      target: 0.5,
      figures: `${median(live).toFixed(0)} ms`,
    },
    {
      ...common,
      what: 'the event as it is stored, over 1.5 MiB',
      ratio: against([bytes], STORED_AT_MOST),
      target: 0.5,
      figures: `${(bytes / 1024).toFixed(0)} KiB`,
    },
  ];
}

function explainedIn(deployment: StoredDeployment, cache: Parameters<typeof explainDeployment>[2]['cache']): number {
  const begun = performance.now();
  const { nodes } = explainDeployment(deployment, deployment.metadata.tenant, { cache, policy });
  if (nodes.length !== 10_000) throw new Error(`${nodes.length} nodes were explained`);
  return performance.now() - begun;
}
