import { ControlPlane } from '../../e2e/lab/control-plane.js';
import { timeEngineAlone, timeToRunning } from '../../e2e/lab/apply-time.js';
import { Fleet } from '../../e2e/lab/fleet.js';
import { TenantClient } from '../../e2e/lab/tenant-client.js';
import { DockerEngine } from '../../pkg/agent/index.js';
import type { BenchResult } from './report.js';
import { interleave, median, ratio } from './rounds.js';

/** W5: from apply to a container that was seen running, against the engine's own create and start. */
export async function applyToRunning(rounds: number): Promise<BenchResult[]> {
  const plane = await ControlPlane.start();
  const fleet = await Fleet.start(plane);
  const engine = new DockerEngine({ host: fleet.engine.host });
  try {
    const shop = await TenantClient.open(plane, 'bench');
    await fleet.enrol(shop.client, 'bench-1');
    const image = await fleet.image('1');
    await timeToRunning(shop, 'warm', { image, replicas: 1 });
    let count = 0;
    const next = () => `bench-${count++}`;
    const one = await interleave(rounds * 8, {
      ours: () => timeToRunning(shop, next(), { image, replicas: 1 }),
      engine: () => timeEngineAlone(engine, { tenant: shop.id, name: next(), image, count: 1 }),
    });
    const many = await interleave(rounds, {
      ours: () => timeToRunning(shop, next(), { image, replicas: 20 }),
      engine: () => timeEngineAlone(engine, { tenant: shop.id, name: next(), image, count: 20 }),
    });
    const shown = ({ ours, engine: alone }: { ours: number[]; engine: number[] }) =>
      `${median(ours).toFixed(0)} ms against ${median(alone).toFixed(0)} ms`;
    return [
      {
        workload: 'W5',
        what: 'apply until a tail shows the container running, over the engine’s create and start',
        ratio: ratio(one.ours, one.engine),
        floor: 1.5,
        target: 1.15,
        larger: false,
        figures: shown(one),
      },
      {
        workload: 'W5b',
        what: 'the same with 20 replicas, over 20 parallel creates and starts',
        ratio: ratio(many.ours, many.engine),
        floor: 1.5,
        target: 1.2,
        larger: false,
        figures: shown(many),
      },
    ];
  } finally {
    await engine.close();
    await fleet.stop();
    await plane.stop();
  }
}
