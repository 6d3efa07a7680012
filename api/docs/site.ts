import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { rejectRequest, type WholeReply } from '../http/reply.js';
import type { ApiCall, Route, RouteResult } from '../http/route.js';
import { PAGE_POLICY, renderPage } from './html.js';

const FRONT = 'index';
const TYPE = 'text/html; charset=utf-8';

const reply = (body: Buffer): WholeReply => ({
  status: 200,
  type: TYPE,
  headers: { 'content-security-policy': PAGE_POLICY },
  body,
});

/** The documentation, as `hack/site` has left it in `folder`: one file a page, without scripts. Open: it holds no data. */
export function createSiteRoutes(folder: string): readonly Route[] {
  const open = { method: 'GET', access: 'open', tenant: 'none', query: [], body: 'none' } as const;
  let pages: ReadonlyMap<string, Buffer> = new Map();
  /** Read once; pages that are not there yet may be made while the server runs. */
  const find = (name: string): Buffer | undefined => {
    if (pages.size === 0) pages = readPages(folder);
    return pages.get(name);
  };
  const front = (): RouteResult => reply(find(FRONT) ?? NOT_BUILT);
  const one = (call: ApiCall): RouteResult => {
    const name = call.params['page']!;
    const page = find(name);
    return page ? reply(page) : rejectRequest('resource_not_found', 'page', name);
  };
  return [
    { ...open, path: '/docs', handle: front },
    { ...open, path: '/docs/{page}', handle: one },
    { ...open, path: '/docs/', handle: front },
  ];
}

const NOT_BUILT = Buffer.from(
  renderPage(
    'Documentation',
    '<h1>Documentation</h1>\n<p>The pages of this server are not built. Run <code>sh hack/setup.sh</code> in its folder, then load this page again.</p>\n<p><a href="/docs/codes">Codes</a> <a href="/docs/api">The API</a></p>',
  ),
);

function readPages(folder: string): ReadonlyMap<string, Buffer> {
  try {
    const names = readdirSync(folder).flatMap(file => /^([\w-]+)\.html$/.exec(file)?.[1] ?? []);
    return new Map(names.map(name => [name, readFileSync(join(folder, `${name}.html`))]));
  } catch {
    return new Map(); // the folder is not there
  }
}
