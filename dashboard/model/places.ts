/** A page of the dashboard. */
export type PageAddress =
  | { readonly page: 'overview' | 'deployments' | 'nodes' | 'events' }
  | { readonly page: 'deployment' | 'node'; readonly name: string };

const LISTS: ReadonlyMap<string, PageAddress> = new Map([
  ['deployments', { page: 'deployments' }],
  ['nodes', { page: 'nodes' }],
  ['events', { page: 'events' }],
]);

/** The page that the part of an address behind `#` means; what means nothing is the overview. */
export function toPlace(hash: string): PageAddress {
  const [, list = '', ...more] = hash.split('/');
  if (more.length === 0 || more[0] === '') return LISTS.get(list) ?? { page: 'overview' };
  const name = decode(more[0]!);
  if (list === 'deployments') return { page: 'deployment', name };
  if (list === 'nodes') return { page: 'node', name };
  return { page: 'overview' };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
