import { catalogue, getEntry, type RejectionCode } from '../rejections/index.js';
import type { Kind, RouteAnswer, RouteNotes } from '../kind/index.js';
import { kinds } from '../kinds/index.js';
import { renderAnswers } from './answers.js';
import { listBodies } from './bodies.js';
import { type JsonSchema, toPublicSchema } from './json-schema.js';

/** One endpoint, as far as the document speaks of it. */
export interface RouteDescription extends RouteNotes {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With parameters in braces: `/api/v1/deployments/{name}`. */
  readonly path: string;
  /** Kinds of token it takes; none when it needs no token. */
  readonly tokens: readonly string[];
  /** Names of query parameters. */
  readonly query: readonly string[];
  /** Every code it may refuse with. */
  readonly codes: readonly RejectionCode[];
}

/** What the document says of the whole. */
export interface ApiInfo {
  readonly version: string;
  readonly baseUrl: string;
}

/** The OpenAPI 3.1 document of an API with these routes. */
export function renderOpenApi(
  routes: readonly RouteDescription[],
  { version, baseUrl }: ApiInfo,
  known: readonly Kind[] = kinds,
): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: '3.1.0',
    info: { title: 'Mooring', version, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: baseUrl }],
    paths,
    components: {
      schemas: renderComponents(known),
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

/** Every schema that the document refers to: bodies, answers and the list of codes. */
export function renderComponents(known: readonly Kind[] = kinds): Readonly<Record<string, JsonSchema>> {
  const all: Readonly<Record<string, object>> = {
    ...listBodies(known),
    ...renderAnswers(known),
    RejectionCode: { type: 'string', enum: Object.keys(catalogue) },
  };
  return Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, toPublicSchema(schema)]));
}

function operation(route: RouteDescription): JsonSchema {
  const { method, path, summary, tokens, query, headers = [], body, answer, otherwise = [], codes } = route;
  const named = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name!);
  const parameters = [
    ...named.map(name => parameter(name, 'path')),
    ...query.map(name => parameter(name, 'query')),
    ...headers.map(name => parameter(name, 'header')),
  ];
  return {
    operationId: operationId(method, path),
    summary,
    security: tokens.length === 0 ? [] : [{ token: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: true, content: json(`#/components/schemas/${body}`) } }),
    responses: { ...renderRouteAnswers([answer, ...otherwise]), ...refusals(codes) },
  };
}

/** `GET /api/v1/deployments/{name}` → `getDeploymentsByName`. */
function operationId(method: string, path: string): string {
  const words = path
    .split('/')
    .filter(part => part !== '' && part !== 'api' && part !== 'v1')
    .map(part => (part.startsWith('{') ? `by-${part.slice(1, -1)}` : part))
    .flatMap(part => part.split(/[^A-Za-z0-9]+/));
  return [method.toLowerCase(), ...words.map(word => word.charAt(0).toUpperCase() + word.slice(1))].join('');
}

function parameter(name: string, where: 'path' | 'query' | 'header'): JsonSchema {
  return { name, in: where, required: where === 'path', schema: { type: 'string' } };
}

const DONE = { 200: 'done', 201: 'created', 202: 'accepted', 204: 'done, with nothing to say' } as const;

/** One response for each status; where several answers share one, any of their forms. */
function renderRouteAnswers(answers: readonly RouteAnswer[]): Readonly<Record<string, JsonSchema>> {
  const statuses = [...new Set(answers.map(({ status }) => status))];
  return Object.fromEntries(
    statuses.map(status => {
      const forms = answers.flatMap(answer => (answer.status === status ? (answer.component ?? []) : []));
      const refs = forms.map(name => ({ $ref: `#/components/schemas/${name}` }));
      const schema = refs.length > 1 ? { anyOf: refs } : refs[0];
      return [status, { description: DONE[status], ...(schema && { content: { 'application/json': { schema } } }) }];
    }),
  );
}

/** One response for each status, with the codes that lead to it. */
function refusals(codes: readonly RejectionCode[]): Readonly<Record<string, JsonSchema>> {
  const byStatus = new Map<number, RejectionCode[]>();
  for (const code of codes) {
    for (const status of listStatuses(code)) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const sorted = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(
    sorted.map(([status, list]) => [
      status,
      { description: list.join(', '), content: json('#/components/schemas/RejectionAnswer') },
    ]),
  );
}

/** Where the status depends on the cause, those of the causes there are. */
function listStatuses(code: RejectionCode): readonly number[] {
  const { status } = getEntry(code);
  if (typeof status === 'number') return [status];
  const causes = [{ nodes: 'none' }, { nodes: 'unreadable' }, { in: 'body' }, { in: 'path' }];
  return [...new Set(causes.map(cause => status(cause)))];
}

function json(ref: string): JsonSchema {
  return { 'application/json': { schema: { $ref: ref } } };
}
