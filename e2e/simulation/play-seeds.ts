/** Plays every n-th seed: `play-seeds.ts <first> <end> <n>`. Prints the outcomes as one line of JSON. */
import { type Outcome, runScenario } from './scenario.js';

const [first = 1, end = 1, step = 1] = process.argv.slice(2).map(Number);
const outcomes: Outcome[] = [];
for (let seed = first; seed < end; seed += step) outcomes.push(await runScenario(seed));
// A pipe takes a part at once: what is left of it would be lost with the process.
process.stdout.write(JSON.stringify(outcomes), () => process.exit());
