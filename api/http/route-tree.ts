import type { Method, Route } from './route.js';

/** Where a request goes: to a route, to a path that has others, or nowhere. */
export type RouteMatch =
  | { readonly kind: 'route'; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'method'; readonly allowed: readonly string[] }
  | { readonly kind: 'nothing' };

interface Branch {
  readonly named: Map<string, Branch>;
  /** The branch that takes any segment. */
  any: Branch | undefined;
  readonly routes: Map<string, { readonly route: Route; readonly names: readonly string[] }>;
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});
const NOTHING: RouteMatch = { kind: 'nothing' };

/** Routes by the segments of their paths. Built once, at start-up. */
export class RouteTree {
  readonly #root = branch();

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  /**
   * The route of a request. `path` is as the client sent it, without the query. A segment that is a name in one route and
   * a parameter in another is the name, unless that leads nowhere.
   */
  find(method: string, path: string): RouteMatch {
    const values: string[] = [];
    const at = walk(this.#root, path.split('/'), 1, values);
    if (!at) return NOTHING;
    const leaf = at.routes.get(method === 'HEAD' ? 'GET' : method);
    if (!leaf) return { kind: 'method', allowed: allowed(at) };
    if (values.length === 0) return { kind: 'route', route: leaf.route, params: NO_PARAMS };
    const params: Record<string, string> = {};
    for (let position = 0; position < values.length; position++) params[leaf.names[position]!] = values[position]!;
    return { kind: 'route', route: leaf.route, params };
  }

  #add(route: Route): void {
    const names: string[] = [];
    let at = this.#root;
    for (const segment of route.path.split('/').slice(1)) {
      let next: Branch | undefined;
      if (segment.startsWith('{')) {
        names.push(segment.slice(1, -1));
        next = at.any ??= branch();
      } else {
        next = at.named.get(segment) ?? branch();
        at.named.set(segment, next);
      }
      at = next;
    }
    at.routes.set(route.method, { route, names });
  }
}

/** The first branch with routes that a path leads to, names before parameters; adds the values of the parameters on the way. */
function walk(at: Branch, segments: readonly string[], from: number, values: string[]): Branch | undefined {
  if (from === segments.length) return at.routes.size > 0 ? at : undefined;
  const raw = segments[from]!;
  const named = at.named.get(raw);
  const place = named && walk(named, segments, from + 1, values);
  if (place || !at.any) return place;
  const value = decoded(raw);
  if (value === undefined) return undefined;
  values.push(value);
  const found = walk(at.any, segments, from + 1, values);
  if (!found) values.pop();
  return found;
}

function branch(): Branch {
  return { named: new Map(), any: undefined, routes: new Map() };
}

function allowed(at: Branch): readonly string[] {
  const methods = [...at.routes.keys()] as Method[];
  return methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])).toSorted();
}

/** One segment, unescaped. Nothing that stands for more than one segment, or for none, passes. */
function decoded(raw: string): string | undefined {
  if (raw === '') return undefined;
  try {
    const value = decodeURIComponent(raw);
    return value.includes('/') || value.includes('\0') ? undefined : value;
  } catch {
    return undefined;
  }
}
