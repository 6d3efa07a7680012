/**
 * The command line: `moor`.
 *
 * Each command is a function of a session (terminal, colours, a way to connect) and its input, and resolves with an exit
 * code that scripts may rely on. It prints what was asked for on standard output, and everything else on standard error.
 *
 * ## Using it
 *
 * `run(argv, terminal)` runs one command line. `main.ts` does that for the process; tests bring a terminal of their own.
 * A new command is one file in `commands/` and one entry in `program.ts`, loaded only when it is used.
 *
 * `print/` lays out tables, sections, times and colours; `convert/` reads compose files and inspected containers; `doctor/`
 * has the checks of `moor doctor`.
 *
 * ## What this package leaves to others
 *
 * It talks to the server through `pkg/client` and never to the store. `moor up`, `server`, `controllers` and `agent` are
 * programs of their own, which the script `moor` starts.
 *
 * @module
 */
export { run } from './run.js';
