import type { Kind, RouteAnswer } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import type { RejectionCode } from '../../crds/rejections/index.js';
import { type JsonSchema, renderOpenApi, type RouteDescription } from '../../crds/schemas/index.js';
import { BrokenInvariantFault } from '../../pkg/fault/index.js';
import { readProductVersion } from '../../pkg/version/index.js';
import { isGrowth, listTokenKinds, type Route } from '../http/route.js';
import { describeKindRoute, descriptions } from './descriptions.js';
import { escapeHtml, renderPage } from './html.js';

/** The OpenAPI document of these routes. Throws when one of them is not described. */
export function buildOpenApi(routes: readonly Route[], baseUrl: string, known?: readonly Kind[]): JsonSchema {
  return renderOpenApi(
    routes.map(route => describeRoute(route, known)),
    { version: readProductVersion(), baseUrl },
    known,
  );
}

const DRY_RUN: RouteAnswer = { status: 200, component: 'DryRun' };

/** All that is to be said of one route: its row, its description, and what the pipeline may refuse it with. */
export function describeRoute(route: Route, known: readonly Kind[] = kinds): RouteDescription {
  const { method, path, access, query, tenant } = route;
  const notes = descriptions[`${method} ${path}`] ?? describeKindRoute(route, known);
  const { summary, answer, codes = [], headers = [], otherwise = [], ...rest } = notes;
  if (summary === undefined || !answer) {
    throw new BrokenInvariantFault(`${method} ${path} is described neither by a kind nor in api/docs/descriptions.ts`);
  }
  const chooses = tenant !== 'none' && !headers.includes('X-Tenant-ID') ? ['X-Tenant-ID'] : [];
  return {
    ...rest,
    summary,
    answer,
    method,
    path,
    query,
    tokens: listTokenKinds(access),
    otherwise: [...otherwise, ...(query.includes('dryRun') ? [DRY_RUN] : [])],
    headers: [...headers, ...chooses],
    codes: [...new Set([...codes, ...listPipelineCodes(route)])],
  };
}

/** What the pipeline itself may refuse a call of this route with, before the route is asked. */
function listPipelineCodes(route: Route): readonly RejectionCode[] {
  const { access, tenant, query, body } = route;
  return [
    'request_malformed',
    'request_too_large',
    'request_headers_too_large',
    'request_stalled',
    'expectation_unsupported',
    'host_unknown',
    'query_parameter_unknown',
    'store_unavailable',
    'internal_failure',
    'rate_limited',
    'concurrency_limited',
    'server_overloaded',
    ...(isGrowth(route) ? (['store_full'] as const) : []),
    ...(query.length > 0 ? (['query_parameter_invalid'] as const) : []),
    ...(access === 'open' ? [] : (['auth_required', 'auth_invalid', 'auth_forbidden'] as const)),
    ...(tenant === 'none'
      ? []
      : (['tenant_mismatch', 'tenant_header_required', 'tenant_header_invalid', 'resource_not_found'] as const)),
    ...(body === 'json' ? (['media_type_unsupported'] as const) : []),
  ];
}

/** The interface as a page: every endpoint, what it takes, who may call it, and every code that it refuses with. */
export function renderApiPage(routes: readonly RouteDescription[]): string {
  const intro = [
    '<h1>API</h1>',
    '<p>Every endpoint. The same for programs: <a href="/openapi.json">/openapi.json</a>. What each code means:',
    '<a href="/docs/codes">codes</a>.</p>',
  ].join('\n');
  return renderPage('API', [intro, ...routes.map(renderRouteSection)].join('\n'));
}

function renderRouteSection({ method, path, summary, tokens, query, body, answer, codes }: RouteDescription): string {
  const rows: readonly (readonly [string, string])[] = [
    ['Who', tokens.length === 0 ? 'every caller, without a token' : escapeHtml(tokens.join(', '))],
    ['Query', list(query)],
    ['Body', body === undefined ? '' : `<code>${escapeHtml(body)}</code>`],
    [
      'Answer',
      `${answer.status} ${answer.component === undefined ? '' : `<code>${escapeHtml(answer.component)}</code>`}`,
    ],
    ['Refuses', codes.map(code => `<a href="/docs/codes/${code}"><code>${code}</code></a>`).join(' ')],
  ];
  return [
    `<h2><code>${method} ${escapeHtml(path)}</code></h2>`,
    `<p>${escapeHtml(summary)}.</p>`,
    '<dl>',
    ...rows.filter(([, text]) => text !== '').map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`),
    '</dl>',
  ].join('\n');
}

function list(names: readonly string[]): string {
  return names.map(name => `<code>${escapeHtml(name)}</code>`).join(' ');
}
