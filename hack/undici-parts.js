/**
 * What we use of undici, for what is bundled, in place of the whole package (`hack/bundle-programs.ts`): its own index also loads
 * fetch, web sockets, caches and mocks, and Node's own copy of undici with them. A name that is missing here fails the build.
 */
import Agent from 'undici/lib/dispatcher/agent.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import api from 'undici/lib/api/index.js';
import errors from 'undici/lib/core/errors.js';
import util from 'undici/lib/core/util.js';
import global from 'undici/lib/global.js';

Object.assign(Dispatcher.prototype, api); // as the index does

/** As the index has it, for the arguments that we give. */
export function request(url, { dispatcher = global.getGlobalDispatcher(), method = 'GET', ...options } = {}) {
  const { origin, pathname, search } = util.parseURL(url);
  return dispatcher.request({ ...options, method, origin, path: `${pathname}${search}` });
}

export { Agent, errors };
