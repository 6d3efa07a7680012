import type { Column, Kind } from '../../crds/kind/index.js';
import { ranges } from '../../crds/keys/index.js';
import type { KindReader } from '../routes/kind-routes.js';
import type { JoinedEntry } from '../watch/frame.js';
import { GROUP, type OwnView, toObject } from './objects.js';
import { COMMON_FIELDS } from './selectors.js';
import type { StatusSubject } from './status.js';
import type { RenderedObject } from './table.js';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

/** A resource as discovery names it, and how its objects are made from what is stored. */
export interface ServedResource {
  readonly group: '' | typeof GROUP;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly isNamespaced: boolean;
  readonly verbs: readonly Verb[];
  /** The fields that objects can be selected by. */
  readonly fields: readonly string[];
  readonly columns: readonly Column<never>[];
  /** What the objects are read from; its rights are those of the resource. */
  readonly reader: KindReader;
  /** The name of the stored object that one of this name is made from, where that is another name. */
  readonly toStoredName?: (name: string) => string | undefined;
  /** The objects that a stored one stands for. */
  readonly project: (stored: JoinedEntry, resourceVersion: string) => readonly RenderedObject[];
}

/** The resources of our own group: the kinds whose objects are named by one word within a tenant. */
export function listOwnResources(readers: readonly KindReader[]): readonly ServedResource[] {
  return readers.filter(isNamed).map(reader => {
    const { kind, resource } = reader;
    return {
      group: GROUP,
      kind: kind.kind,
      plural: kind.plural,
      singular: kind.singular,
      shortNames: [...kind.shortNames, ...(kind.kubernetes?.shortNames ?? [])],
      categories: ['mooring', ...(kind.kubernetes ? ['all'] : [])],
      isNamespaced: true,
      verbs: ['get', 'list', 'watch', ...listWrites(kind)],
      fields: COMMON_FIELDS,
      columns: kind.columns,
      reader,
      project: ({ entry, joined }, version) => {
        const view = JSON.parse(resource.view(entry, joined).toString()) as OwnView;
        return [{ object: toObject(kind, view, version), view }];
      },
    };
  });
}

/** What can be written of a kind that may be driven with kubectl. The annotations of an object are changed whatever its kind. */
function listWrites({ kubernetes, operations }: Kind): readonly Verb[] {
  if (!kubernetes) return [];
  const changes: readonly Verb[] = ['update', 'patch'];
  const only = (verb: 'create' | 'delete') => (operations.includes(verb) ? [verb] : []);
  return [...only('create'), ...changes, ...only('delete')];
}

function isNamed({ kind, resource }: KindReader): boolean {
  const { keyParts = [], operations }: Kind = kind;
  return keyParts.length === 2 && keyParts[0] === 'tenant' && operations.includes('watch') && !resource.isUncached;
}

/** Where the objects of a tenant stand, or those of all where the resource has no namespaces. */
export function toTopic({ isNamespaced, reader }: ServedResource, tenant: string): string {
  return isNamespaced ? ranges.of(reader.kind.range, tenant) : reader.kind.range;
}

/** What a refusal is about. */
export function toStatusSubject({ group, plural, kind }: ServedResource, name = ''): StatusSubject {
  return { group, resource: plural, kind, name };
}
