import { exampleFacts, full, limits } from '../../crds/deployment/admit.testing.js';
import { admitCreate } from '../../crds/deployment/index.js';
import type { BenchResult } from './report.js';
import { interleave, ratio } from './rounds.js';

/** CPU time that judging one document may take. */
const ALLOWED_MS = 0.3;
const DOCUMENTS = 500;
/** How often each round repeats: the least disturbed repetition counts. */
const REPETITIONS = 8;

/** A deployment that uses every field, with as many settings as deployments tend to have. */
const typical = {
  ...full,
  environment: Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`SETTING_${at}`, `some value ${at}`])),
};

/** W17: what the rules cost for a typical deployment, with all that they look up in memory. */
export async function measureAdmission(rounds: number): Promise<BenchResult[]> {
  admitMany();
  const { typical: cells } = await interleave(rounds, { typical: () => Promise.resolve(leastMillis()) });
  return [
    {
      workload: 'W17',
      what: 'CPU time to admit a deployment that uses every field, over 0.3 ms',
      ratio: ratio(
        cells,
        cells.map(() => ALLOWED_MS),
      ),
      floor: 1,
      target: 0.5,
      larger: false,
      figures: cells.map(ms => `${ms.toFixed(3)} ms`).join(', '),
    },
  ];
}

function leastMillis(): number {
  return Math.min(...Array.from({ length: REPETITIONS }, admitMany));
}

/** The CPU time of one admission, in the middle of many. */
function admitMany(): number {
  const started = process.cpuUsage();
  for (let at = 0; at < DOCUMENTS; at++) {
    if (!admitCreate(typical, exampleFacts, limits).ok) throw new Error('the typical deployment was refused');
  }
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1000 / DOCUMENTS;
}
