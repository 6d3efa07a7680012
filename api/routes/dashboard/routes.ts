import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { renderPage } from '../../docs/html.js';
import { PAGE_POLICY } from '../../docs/index.js';
import { rejectRequest, type WholeReply } from '../../http/reply.js';
import type { ApiCall, Route, RouteResult } from '../../http/route.js';

/** Own scripts and styles, and calls to this server. Nothing inline runs, and no text can become a script or markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const PAGE = 'index.html';

/** One file of the bundle, as it is sent. */
interface Asset {
  readonly type: string;
  readonly plain: Buffer;
  readonly packed: Buffer;
}

/** The dashboard: a page and its assets, as `dashboard/bundle` has left them in `folder`. Open: they hold no data. */
export function createDashboardRoutes(folder: string): readonly Route[] {
  const open = { method: 'GET', access: 'open', tenant: 'none', query: [], body: 'none' } as const;
  let assets: ReadonlyMap<string, Asset> = new Map();
  /** Read once; a bundle that is not there yet may be built while the server runs. */
  const find = (name: string): Asset | undefined => {
    if (assets.size === 0) assets = readAssets(folder);
    return assets.get(name);
  };
  const page = (call: ApiCall): RouteResult => {
    const asset = find(PAGE);
    return asset ? toReply(asset, call) : NOT_BUILT;
  };
  const one = (call: ApiCall): RouteResult => {
    const name = call.params['file']!;
    const asset = find(name);
    return asset ? toReply(asset, call) : rejectRequest('resource_not_found', 'file', name);
  };
  return [
    { ...open, path: '/', handle: page },
    { ...open, path: '/assets/{file}', handle: one },
  ];
}

const NOT_BUILT: WholeReply = {
  status: 200,
  type: TYPES['.html']!,
  headers: { 'content-security-policy': PAGE_POLICY },
  body: Buffer.from(
    renderPage(
      'Dashboard',
      '<h1>Dashboard</h1>\n<p>The dashboard of this server is not built. Run <code>sh hack/setup.sh</code> in its folder, then load this page again.</p>\n<p><a href="/docs/api">The API</a></p>',
    ),
  ),
};

function readAssets(folder: string): ReadonlyMap<string, Asset> {
  try {
    const names = readdirSync(folder).filter(name => TYPES[extname(name)] !== undefined);
    return new Map(names.map(name => [name, readAsset(join(folder, name))]));
  } catch {
    return new Map(); // the folder is not there
  }
}

function readAsset(path: string): Asset {
  const plain = readFileSync(path);
  return { type: TYPES[extname(path)]!, plain, packed: gzipSync(plain) };
}

function toReply({ type, plain, packed }: Asset, { request }: ApiCall): WholeReply {
  const headers = { 'content-security-policy': POLICY, vary: 'Accept-Encoding' };
  const takesPacked = String(request.headers['accept-encoding'] ?? '').includes('gzip');
  if (!takesPacked) return { status: 200, type, headers, body: plain };
  return { status: 200, type, headers: { ...headers, 'content-encoding': 'gzip' }, body: packed };
}
