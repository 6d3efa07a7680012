/**
 * The client's half of HTTP/2, as far as gRPC needs it.
 *
 * What is sent is handed to the kernel before the call returns. Node's own client puts it off to a later phase of the
 * event loop, after every other request that has arrived meanwhile, and takes several times the processor time.
 *
 * A `Connection` speaks on a socket that its user has opened, and knows no clock: who wants to know whether the other
 * side is still there sends a ping and decides how long to wait. A `Stream` is one request with its answer; its
 * `StreamEars` hear headers, data and, last of all, how it ended.
 *
 * It has no server, takes no pushes, gives no priorities, and knows nothing of gRPC.
 *
 * @module
 */
export { Http2Connection } from './connection.js';
export type { ConnectionHandler, Windows } from './connection-handler.js';
export { encodeHeaders, type HeaderField } from './header-encoder.js';
export { Http2Fault } from './http2-fault.js';
export type { Stream, StreamHandler, StreamEnd } from './stream.js';
