/**
 * `node dist/hack/bundle-programs.js DIST`: puts each program, with all it always needs, into few files in `DIST`: in place of
 * the one that was compiled from the same source, and in `chunks`. What a program loads late is a file of its own still.
 *
 * To find and read some 700 files was more than half of the time that a program took to start.
 */
import { bundle } from './bundle.js';

/** The programs that share files. Those that are started most, and anew after every failure, share none: each has what it needs itself, and few files. */
const BUILDS = [
  ['api/main.ts'],
  ['controllers/main.ts'],
  ['pkg/agent/main.ts'],
  ['pkg/agent/fencer/main.ts'],
  ['controllers/bridge/main.ts', 'pkg/cli/main.ts', 'up/main.ts', 'up/supervisor-main.ts'],
];

const [dist] = process.argv.slice(2);
if (dist === undefined) throw new Error('name the folder of the compiled programs');
for (const programs of BUILDS) await bundle(programs, dist);
