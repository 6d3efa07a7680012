/** The kinds that have a list and no page of their own. */
export type OtherKind = 'jobs' | 'volumes' | 'networks' | 'backups';

/** A page of the dashboard. */
export type PageAddress =
  | { readonly page: 'overview' | 'deployments' | 'nodes' | 'events' | 'secrets' | 'new' | OtherKind }
  | { readonly page: 'deployment' | 'node' | 'edit'; readonly name: string };

const LISTS: ReadonlyMap<string, PageAddress> = new Map(
  (['deployments', 'nodes', 'events', 'secrets', 'new', 'jobs', 'volumes', 'networks', 'backups'] as const).map(
    page => [page, { page }],
  ),
);

/** The page that the part of an address behind `#` means; what means nothing is the overview. */
export function toPlace(hash: string): PageAddress {
  const [, list = '', ...more] = hash.split('/');
  if (more.length === 0 || more[0] === '') return LISTS.get(list) ?? { page: 'overview' };
  const name = decode(more[0]!);
  if (list === 'deployments') return { page: more[1] === 'edit' ? 'edit' : 'deployment', name };
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
