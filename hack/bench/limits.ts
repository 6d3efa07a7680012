import { exampleFacts, least, limits } from '../../crds/deployment/admit.testing.js';
import { hostileDocuments } from '../../crds/deployment/hostile.testing.js';
import { admitCreate } from '../../crds/deployment/index.js';
import { ResolverLab } from '../../controllers/secret-resolver/resolver-lab.testing.js';
import { measureCpu } from '../../dev/testing/index.js';
import { parseJson } from '../../pkg/json/index.js';
import { hostileTexts } from '../../pkg/json/json.testing.js';
import type { BenchResult } from './report.js';
import { interleave, ratio } from './rounds.js';

/** CPU time that refusing the worst document may take. */
const REFUSED_WITHIN_MS = 50;
/** How often each is repeated: the least disturbed repetition counts. */
const REPETITIONS = 6;
const A_SECOND = 50;
const SECONDS = 5;
const STAMPED_WITHIN_MS = 100;

/** W18: the absolute limits that tests hold only by growth: hostile documents, and the pace of the secret resolver. */
export async function holdLimits(rounds: number): Promise<BenchResult[]> {
  const documents = Object.entries(hostileDocuments).map(([name, { size, fields }]) => {
    const document = { ...least, ...fields(size) };
    return [name, () => JSON.stringify(admitCreate(document, exampleFacts, limits))] as const;
  });
  const texts = Object.entries(hostileTexts).map(([name, { size, make }]) => {
    const bytes = Buffer.from(make(size));
    return [name, () => parseJson(bytes)] as const;
  });
  const lab = await ResolverLab.start(20);
  try {
    const cells = await interleave(rounds, {
      admit: async () => (await measureWorst(documents)).ms,
      parse: async () => (await measureWorst(texts)).ms,
      stamp: () => stampPaced(lab),
    });
    const row = (what: string, figures: readonly number[], limit: number): BenchResult => ({
      workload: 'W18',
      what,
      ratio: ratio(
        figures,
        figures.map(() => limit),
      ),
      floor: 1,
      target: 0.5,
      larger: false,
      figures: figures.map(ms => `${ms.toFixed(1)} ms`).join(', '),
    });
    const { name } = await measureWorst(documents);
    return [
      row(`CPU time to refuse the worst hostile document (${name}), over 50 ms`, cells.admit, REFUSED_WITHIN_MS),
      row('CPU time to read the worst mebibyte of JSON, over 50 ms', cells.parse, REFUSED_WITHIN_MS),
      row('99 of 100 resolutions of secrets at 50 a second, over 100 ms', cells.stamp, STAMPED_WITHIN_MS),
    ];
  } finally {
    await lab.stop();
  }
}

async function measureWorst(
  works: readonly (readonly [string, () => unknown])[],
): Promise<{ name: string; ms: number }> {
  let worst = { name: '', ms: 0 };
  for (const [name, run] of works) {
    const times: number[] = [];
    for (let repetition = 0; repetition < REPETITIONS; repetition++) times.push(await measureCpu(1, run));
    const ms = Math.min(...times);
    if (ms > worst.ms) worst = { name, ms };
  }
  return worst;
}

let sent = 0;

/** Milliseconds within which 99 of 100 replicas are stamped. */
async function stampPaced(lab: ResolverLab): Promise<number> {
  const stamping: Promise<number>[] = [];
  for (let count = 0; count < A_SECOND * SECONDS; count++) {
    const begun = performance.now();
    stamping.push(lab.stamp(`paced-${sent}`, sent++).then(() => performance.now() - begun));
    await new Promise(resolve => setTimeout(resolve, 1000 / A_SECOND));
  }
  const times = (await Promise.all(stamping)).sort((a, b) => a - b);
  return times[Math.ceil(times.length * 0.99) - 1]!;
}
