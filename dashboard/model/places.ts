import { toTitle } from '../../crds/kind/index.js';
import type { Role } from '../../crds/tenant/index.js';
import { mayDo } from './actions.js';
import { type PlacedKind, placedKinds } from './generated-kinds.js';

/** The plural of a kind of this release that can be listed. */
export type KnownPlural = (typeof placedKinds)[number]['plural'];

/** What of the places of a kind does not follow from its descriptor. All of it is optional. */
interface KindPlaces {
  /** The key that leads to its list, behind `g`. */
  readonly key?: string;
  /** Each of its objects has a page. */
  readonly hasObjectPage?: true;
  /** Its objects are declared and changed in the editor. */
  readonly isEdited?: true;
  /** Who may see its list; everyone, unless it says so. */
  readonly role?: Role;
  /** Navigation names it behind all other pages. */
  readonly isLast?: true;
}

/** The one table of such places, in the order of the navigation. Kinds without an entry follow, each with its list. */
export const kindPlaces = {
  deployments: { key: 'd', hasObjectPage: true, isEdited: true },
  nodes: { key: 'n', hasObjectPage: true },
  jobs: { key: 'j', hasObjectPage: true },
  secrets: { key: 's' },
  volumes: { key: 'v' },
  networks: {},
  backups: {},
  tokens: { role: 'admin', isLast: true },
  events: { key: 'e', isLast: true },
} as const satisfies { readonly [Plural in KnownPlural]?: KindPlaces };

const table: ReadonlyMap<string, KindPlaces> = new Map(Object.entries(kindPlaces));

function getKindPlaces({ plural }: PlacedKind): KindPlaces {
  return table.get(plural) ?? {};
}

/** A page of the dashboard: one of its own, the list of a kind by its plural, or an object by its singular and its name. */
export interface PageAddress {
  readonly page: string;
  readonly name?: string;
}

/** A page that the navigation leads to. */
export interface NavigationPlace {
  readonly title: string;
  readonly href: string;
  /** The pages at which it is the current one. */
  readonly pages: readonly string[];
  readonly key?: string;
  readonly role?: Role;
}

const OVERVIEW: NavigationPlace = { title: 'Overview', href: '#/', pages: ['overview'], key: 'o' };
const QUOTAS: NavigationPlace = { title: 'Quotas', href: '#/quotas', pages: ['quotas'] };

/** The kinds that have a list here: those that belong to a tenant. */
function listOwnKinds(known: readonly PlacedKind[]): readonly PlacedKind[] {
  const order = [...table.keys()];
  const position = ({ plural }: PlacedKind) => (table.has(plural) ? order.indexOf(plural) : order.length);
  return known
    .filter(({ scope, operations, columns }) => scope === 'tenant' && operations.includes('list') && columns.length > 0)
    .toSorted((a, b) => position(a) - position(b));
}

/** Everything that the navigation leads to, in its order. */
export function listPlaces(known: readonly PlacedKind[] = placedKinds): readonly NavigationPlace[] {
  const own = listOwnKinds(known);
  const isLast = (kind: PlacedKind) => getKindPlaces(kind).isLast === true;
  return [
    OVERVIEW,
    ...own.filter(kind => !isLast(kind)).map(toKindPlace),
    QUOTAS,
    ...own.filter(isLast).map(toKindPlace),
  ];
}

/** Whether someone may see a page. The list of a page that is for others is refused, and that would end the session. */
export function maySee(who: Parameters<typeof mayDo>[0], page: string, places = listPlaces()): boolean {
  const { role } = places.find(({ pages }) => pages.includes(page)) ?? {};
  return role === undefined || mayDo(who, role);
}

function toKindPlace(kind: PlacedKind): NavigationPlace {
  const { plural, singular } = kind;
  const { key, role, isEdited } = getKindPlaces(kind);
  return {
    title: toTitle(plural),
    href: `#/${plural}`,
    pages: [plural, singular, ...(isEdited ? ['edit', 'new'] : [])],
    ...(key !== undefined && { key }),
    ...(role !== undefined && { role }),
  };
}

/** The page that the part of an address behind `#` means; what means nothing is the overview. */
export function toPlace(hash: string, known: readonly PlacedKind[] = placedKinds): PageAddress {
  const [, list = '', ...more] = hash.split('/');
  const kind = listOwnKinds(known).find(({ plural }) => plural === list);
  if (more.length === 0 || more[0] === '') return kind || OWN_PAGES.has(list) ? { page: list } : { page: 'overview' };
  if (!kind) return { page: 'overview' };
  const { isEdited, hasObjectPage } = getKindPlaces(kind);
  const name = decode(more[0]!);
  if (isEdited && more[1] === 'edit') return { page: 'edit', name };
  return hasObjectPage ? { page: kind.singular, name } : { page: 'overview' };
}

const OWN_PAGES: ReadonlySet<string> = new Set(['new', 'quotas']);

/** Where the page of an object is; undefined when objects of its kind have none. */
export function findObjectHref(
  { kind, name }: { readonly kind: string; readonly name: string },
  known: readonly PlacedKind[] = placedKinds,
): string | undefined {
  const found = known.find(each => each.kind === kind);
  return found && getKindPlaces(found).hasObjectPage ? `#/${found.plural}/${encodeURIComponent(name)}` : undefined;
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
