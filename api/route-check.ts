import { BrokenInvariantFault } from '../pkg/fault/index.js';
import { kindsOf, type Route } from './route.js';

/** Throws unless every route says who may call it and about which tenant, without contradicting itself. */
export function checkRoutes(routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const route of routes) {
    const name = `${route.method} ${route.path}`;
    for (const problem of problemsOf(route)) throw new BrokenInvariantFault(`${name}: ${problem}`);
    const shape = name.replace(/\{[^}]*\}/g, '{}');
    if (seen.has(shape)) throw new BrokenInvariantFault(`${name}: declared twice`);
    seen.add(shape);
  }
}

function* problemsOf({ method, access, tenant, body }: Route): Generator<string> {
  // A row may come from a plugin or a cast, where the compiler did not insist.
  if (access === undefined || tenant === undefined) {
    yield 'does not say who may call it';
    return;
  }
  const kinds = kindsOf(access);
  if (access !== 'open' && kinds.length === 0) yield 'can be called by nobody';
  if (access === 'open' && tenant !== 'none') yield 'is open and yet about a tenant';
  if (kinds.includes('tenant') && tenant === 'none') yield 'takes tenant tokens and yet is about no tenant';
  if (kinds.includes('node') && kinds.length > 1) yield 'takes node tokens beside others';
  if (method === 'GET' && body !== 'none') yield 'is a GET with a body';
}
