/**
 * The client of the API server, for the command line and for tests.
 *
 * A refusal is a value: every request answers `{ok: true, value}` or `{ok: false, rejections}` with all rejections at once.
 * Only a server that cannot be reached, or whose answer cannot be parsed, is thrown.
 *
 * ## Using it
 *
 * `new Client({server, token})`, then `request` for one exchange, `all` for every page of a list, `watch` for a list and
 * its changes, and `stream` for a container's output. A watch resumes by itself after a restart of the server, a lost
 * connection or an expired cursor: its reader sees every object reach its latest state, and no state twice.
 *
 * ## What this package leaves to others
 *
 * It knows no kinds and prints nothing. `pkg/cli` finds the server and the token. It uses node:http only, because loading
 * a larger HTTP client would delay every command.
 *
 * @module
 */
export type { ApiAnswer, ClientRejection, RejectionAnswer, StreamAnswer, WatchChange } from './answer.js';
export { BrokenAnswerFault, UnreachableFault } from './answer.js';
export { Client } from './client.js';
