import { run } from './run.js';
import { createProcessTerminal } from '../terminal/index.js';

// Timers of the clock do not keep a process alive; a command that waits must.
const alive = setInterval(() => undefined, 2 ** 30);
try {
  process.exitCode = await run(process.argv.slice(2), createProcessTerminal());
} finally {
  clearInterval(alive);
}
