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
 * | Folder | Holds |
 * |---|---|
 * | `http/` | requests and answers: routes, bodies, queries, lists, rejections, the request log |
 * | `access/` | who calls: tokens, rate limits, roles, the tenant of a call |
 * | `write/` | the one way to write: read, judge, plan, commit, answer; the only place that commits |
 * | `admission/` | what a write is judged by |
 * | `watch/` | lists that go on: cursors, frames, watchers |
 * | `stream/` | long answers: assignments for agents, logs |
 * | `routes/<kind>/` | the endpoints of a kind; `kind-routes.ts` reads every kind in the same way |
 * | `docs/` | the API document and the page of every code |
 * | `k8s/` | the Kubernetes face below `/k8s`: kubectl and client libraries, translated into the above |
 *
 * It leaves to others what a document means (`crds`), how it is stored (`pkg/store`), and what comes of it
 * (`controllers`, which it never imports: they meet in the store).
 *
 * @module
 */
export { authenticateCaller } from './access/auth-cache.js';
export { NodeProofs } from './access/node-proof.js';
export type { Api } from './api.js';
export { createApi } from './api.js';
export type { ApiDeps } from './env.js';
export { startServer } from './server.js';
