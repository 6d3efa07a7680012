/**
 * The programs that Mooring depends on (`up/programs`), with what only tests need of them: a connection that fails as it is told.
 *
 * @module
 */
export * from '../../up/programs/index.js';
export { briefOptions } from './node-options.js';
export { TcpProxy } from './tcp-proxy.js';
