import { launchChromium, findChromium } from '../../e2e/dashboard/browser.js';
import { seedDeployments, timeFirstPaint } from '../../e2e/dashboard/crowd.js';
import { ControlPlane } from '../../e2e/lab/control-plane.js';
import { TenantClient } from '../../e2e/lab/tenant-client.js';
import type { BenchResult } from './report.js';
import { interleave, ratio } from './rounds.js';

const FEW = 50;
const MANY = 5_000;
const PATIENCE_MS = 1_000;

/** W26: from the sign-in until the dashboard has drawn a list, with thousands of deployments and with a few. */
export async function measureFirstPaint(rounds: number): Promise<BenchResult[]> {
  const executable = findChromium();
  if (executable === undefined) {
    console.log('first paint is not measured: there is no browser here (apt-get install chromium)');
    return [];
  }
  const plane = await ControlPlane.start();
  const browser = await launchChromium(executable);
  try {
    await plane.controllers.kill('SIGTERM'); // they would look for the containers of what is seeded
    const [few, many] = [await TenantClient.open(plane, 'few'), await TenantClient.open(plane, 'many')];
    await seedDeployments(plane, few.id, FEW);
    await seedDeployments(plane, many.id, MANY);
    const paint = (tenant: TenantClient) => () => timeFirstPaint(browser, plane.server, tenant.token);
    await paint(few)(); // the first of a browser is slow
    const cells = await interleave(rounds, { many: paint(many), few: paint(few) });
    const show = (all: readonly number[]) => all.map(ms => `${ms.toFixed(0)} ms`).join(', ');
    return [
      {
        workload: 'W26',
        what: `from the sign-in to a drawn list of ${MANY} deployments in the dashboard, over one of ${FEW}`,
        ratio: ratio(cells.many, cells.few),
        floor: 3,
        target: 2,
        larger: false,
        figures: `${show(cells.many)} against ${show(cells.few)}`,
      },
      {
        workload: 'W26b',
        what: 'the same, over the second that a person waits',
        ratio: ratio(
          cells.many,
          cells.many.map(() => PATIENCE_MS),
        ),
        floor: 1,
        target: 0.5,
        larger: false,
        figures: show(cells.many),
      },
    ];
  } finally {
    await browser.close();
    await plane.stop();
  }
}
