/** The supervisor as a process of its own: `supervisor-main.ts <home folder>`. */
import { runProcess } from '../pkg/process/index.js';
import { superviseHome } from './supervisor/supervise.js';

await runProcess(
  'supervisor',
  ([folder = '']) => ({ folder, logLevel: 'info', logFormat: 'json' }),
  ({ folder }, { log }, signal) => superviseHome(folder, log, signal),
);
// A part that is being started is not waited for: it outlives this process anyway.
process.exit();
