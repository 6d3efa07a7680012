/**
 * The front door: HTTP in, guarded writes and cached reads out.
 *
 * Every request passes one pipeline in one order, and every endpoint is one row of one table that says who may call it,
 * about which tenant and with what; a row that does not say keeps the server from starting. The server holds nothing but
 * caches, so any number of them may run.
 *
 *     const cache = new WatchCache({ store, clock, log });
 *     const api = createApi({ store, cache, settings, clock, random, log, metrics, keyring });   // before the cache runs
 *     void cache.run(signal, { history: settings.tailBuffer });
 *     await cache.ready;
 *     const server = await startServer(api, settings);
 *
 * `bootstrap` makes the first tenants and tokens of a development set-up.
 *
 * It leaves to others what a document means (`crds`), how it is stored (`pkg/store`), and what comes of it
 * (`controllers`, which it never imports: they meet in the store).
 *
 * @module
 */
export type { Api } from './api.js';
export { createApi } from './api.js';
export type { DevelopmentAccess } from './bootstrap.js';
export { bootstrap } from './bootstrap.js';
export type { ApiDeps } from './env.js';
export { startServer } from './server.js';
