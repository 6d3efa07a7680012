/**
 * What every program with a command line needs: the terminal, exit codes, and the server and token that are to be used.
 *
 * `createProcessTerminal()` is that of this process; tests bring one of their own. `findConnection` reads flags, the environment and the
 * contexts of `moor login`, in this order; a token is never sent to a server that it was not configured for.
 *
 * Commands, and what they print, are `pkg/cli`.
 *
 * @module
 */
export * from './connection.js';
export * from './contexts.js';
export * from './exit-code.js';
export * from './live-area.js';
export * from './paint.js';
export * from './terminal.js';
