import { run } from './run.js';
import { processTerminal } from './terminal.js';

// Timers of the clock do not keep a process alive; a command that waits must.
const alive = setInterval(() => undefined, 2 ** 30);
try {
  process.exitCode = await run(process.argv.slice(2), processTerminal());
} finally {
  clearInterval(alive);
}
