/**
 * The client: what the command line and the tests use to talk to an API server.
 *
 * A refusal is a value. Every request answers `{ok: true, value}` or `{ok: false, rejections}`, with all that is wrong
 * with the request at once; only a server that cannot be reached, or that answers nonsense, is thrown.
 *
 * ## Using it
 *
 * `new Client({server, token})`, then `request` for one exchange, `all` for every page of a list, `watch` for a tail
 * and `stream` for a container's output. A tail resumes by itself after the last line it delivered: whatever
 * happens in between (a restarted server, a lost connection, a cursor that is no longer kept) its reader sees every
 * object reach its latest state, and none twice.
 *
 * ## What this package leaves to others
 *
 * It knows no kinds and prints nothing. Where the server and the token are found is the business of `pkg/cli`. It
 * stands on node:http alone, because a command that answers in a blink cannot afford to load a larger client.
 *
 * @module
 */
export type { ApiAnswer, WatchChange, StreamAnswer, ObjectList, RejectionAnswer, ClientRejection } from './answer.js';
export { BrokenAnswerFault, UnreachableFault } from './answer.js';
export type { ClientOptions, RequestOptions } from './client.js';
export { Client } from './client.js';
export type { QueryParameters } from './transport.js';
export type { WatchOptions } from './watch.js';
