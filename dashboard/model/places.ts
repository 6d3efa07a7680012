/** The kinds that have a list and no page of their own. */
export type OtherKind = 'jobs' | 'volumes' | 'networks' | 'backups';

/** A page of the dashboard. */
export type PageAddress =
  | {
      readonly page:
        | 'overview'
        | 'deployments'
        | 'nodes'
        | 'events'
        | 'secrets'
        | 'tokens'
        | 'quotas'
        | 'new'
        | OtherKind;
    }
  | { readonly page: 'deployment' | 'node' | 'job' | 'edit'; readonly name: string };

const LISTS: ReadonlyMap<string, PageAddress> = new Map(
  (
    [
      'deployments',
      'nodes',
      'events',
      'secrets',
      'tokens',
      'quotas',
      'new',
      'jobs',
      'volumes',
      'networks',
      'backups',
    ] as const
  ).map(page => [page, { page }]),
);

/** The page that the part of an address behind `#` means; what means nothing is the overview. */
export function toPlace(hash: string): PageAddress {
  const [, list = '', ...more] = hash.split('/');
  if (more.length === 0 || more[0] === '') return LISTS.get(list) ?? { page: 'overview' };
  const name = decode(more[0]!);
  if (list === 'deployments') return { page: more[1] === 'edit' ? 'edit' : 'deployment', name };
  if (list === 'nodes') return { page: 'node', name };
  if (list === 'jobs') return { page: 'job', name };
  return { page: 'overview' };
}

const SIGN_IN = /^#\/sign-in\/([0-9A-Za-z]{43})$/;

/** The code of a link that signs in once; undefined for any other address. */
export function readSignInCode(hash: string): string | undefined {
  return SIGN_IN.exec(hash)?.[1];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
