import { type JsonSchema, renderOpenApi, type RouteAnswer, type RouteDescription } from '../../crds/schemas/index.js';
import { BrokenInvariantFault } from '../../pkg/fault/index.js';
import { version } from '../../pkg/version/index.js';
import { kindsOf, type Route } from '../route.js';
import { pipelineCodes } from './codes.js';
import { descriptions } from './descriptions.js';

/** The OpenAPI document of these routes. Throws when one of them is not described. */
export function documentOf(routes: readonly Route[], baseUrl: string): JsonSchema {
  return renderOpenApi(routes.map(describeRoute), { version: version(), baseUrl });
}

const TRIED: RouteAnswer = { status: 200, component: 'DryRun' };

/** All that is to be said of one route: its row, its description, and what the pipeline may refuse it with. */
export function describeRoute(route: Route): RouteDescription {
  const { method, path, access, query, tenant } = route;
  const described = descriptions[`${method} ${path}`];
  if (!described) throw new BrokenInvariantFault(`${method} ${path} is not described in api/openapi`);
  const { codes = [], headers = [], otherwise = [], ...rest } = described;
  const chooses = tenant !== 'none' && !headers.includes('X-Tenant-ID') ? ['X-Tenant-ID'] : [];
  return {
    ...rest,
    method,
    path,
    query,
    tokens: kindsOf(access),
    otherwise: [...otherwise, ...(query.includes('dryRun') ? [TRIED] : [])],
    headers: [...headers, ...chooses],
    codes: [...new Set([...codes, ...pipelineCodes(route)])],
  };
}
