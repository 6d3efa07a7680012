import type { Kind } from '../../crds/kind/index.js';
import { rejectRequest, replyJson, type WholeReply } from '../http/reply.js';
import type { ApiCall, Route, RouteResult } from '../http/route.js';
import { renderCodeIndexPage, listCodeViews, renderCodePage, readCodeView, PAGE_POLICY } from './index.js';
import { renderApiPage, buildOpenApi, describeRoute } from './openapi.js';

/**
 * The interface, described by itself: the pages that the `doc` of every rejection links to, and all of its routes. `all` is
 * the whole table, these included.
 */
export function createDocRoutes(
  env: { readonly baseUrl: () => string; readonly kinds?: readonly Kind[] },
  all: () => readonly Route[],
): readonly Route[] {
  // The Kubernetes face describes itself, in the words of Kubernetes.
  const own = () => all().filter(({ face }) => face === undefined);
  const open = { method: 'GET', access: 'open', tenant: 'none', query: [], body: 'none' } as const;
  // Anyone may ask, and both are large: they are built once for each address of the server.
  const openApi = buildOnce(baseUrl => replyJson(200, buildOpenApi(own(), baseUrl, env.kinds)));
  const page = buildOnce(() => html(renderApiPage(own().map(route => describeRoute(route, env.kinds)))));
  return [
    { ...open, path: '/openapi.json', handle: () => openApi(env.baseUrl()) },
    { ...open, path: '/docs/api', handle: () => page('') },
    { ...open, path: '/docs/codes', handle: index },
    { ...open, path: '/docs/codes/{code}', handle: one },
  ];
}

function buildOnce(build: (baseUrl: string) => WholeReply): (baseUrl: string) => WholeReply {
  let built: { readonly baseUrl: string; readonly reply: WholeReply } | undefined;
  return baseUrl => {
    if (built?.baseUrl !== baseUrl) built = { baseUrl, reply: build(baseUrl) };
    return built.reply;
  };
}

function index(call: ApiCall): RouteResult {
  return wantsPage(call) ? html(renderCodeIndexPage()) : replyJson(200, { sections: listCodeViews() });
}

function one(call: ApiCall): RouteResult {
  const code = call.params['code']!;
  const view = readCodeView(code);
  if (!view) return rejectRequest('resource_not_found', 'code', code);
  return wantsPage(call) ? html(renderCodePage(code) ?? '') : replyJson(200, view);
}

function wantsPage({ request }: ApiCall): boolean {
  return (request.headers.accept ?? '').includes('text/html');
}

function html(page: string): WholeReply {
  const headers = { 'content-security-policy': PAGE_POLICY, vary: 'Accept' };
  return { status: 200, type: 'text/html; charset=utf-8', body: Buffer.from(page), headers };
}
