import { type Column, toTitle } from '../../crds/kind/index.js';
import type { Action } from './actions.js';
import { type PlacedKind, placedKinds } from './generated-kinds.js';

/** An object of any kind, as far as its list uses it. */
export interface ListedObject {
  readonly [field: string]: unknown;
  readonly metadata?: {
    readonly uid?: string;
    readonly revision?: string;
    readonly createdAt?: string;
    readonly deletedAt?: string;
  };
}

/** A column of the list of a kind: what stands in it, and as what it is drawn. */
export interface ListingColumn {
  readonly title: string;
  readonly format?: Column<never>['format'];
  readonly read: (object: ListedObject) => string;
}

/** The columns of a kind for these objects: those for every list, and those that an object that needs attention has. */
export function chooseColumns(
  { columns }: Pick<PlacedKind, 'columns'>,
  objects: readonly ListedObject[],
): readonly ListingColumn[] {
  return (columns as readonly Column<ListedObject>[]).flatMap(({ title, value, format, isWide, isWarning }) => {
    const needsAttention = (object: ListedObject) => isWarning?.(object) ?? false;
    if (isWide && !objects.some(needsAttention)) return [];
    return {
      title: toTitle(title),
      ...(format && { format }),
      read: object => (isWide && !needsAttention(object) ? '' : value(object)),
    } satisfies ListingColumn;
  });
}

/** Where the objects of a kind of this release are listed. */
export function getListPath(kind: (typeof placedKinds)[number]['kind']): string {
  return placedKinds.find(each => each.kind === kind)!.path;
}

/** What a person calls an object. */
export function getObjectName({ nameField }: Pick<PlacedKind, 'nameField'>, object: ListedObject): string {
  return String(object[nameField]);
}

/**
 * What identifies an object within its list: its id, or its name where it has none. The uid does not: damaged records
 * have the same one.
 */
export function getObjectKey(kind: Pick<PlacedKind, 'nameField'>, object: ListedObject): string {
  const { id } = object;
  return typeof id === 'string' ? id : getObjectName(kind, object);
}

/** What every kind that can be deleted has a button for. */
export function listCommonActions(kind: PlacedKind, object: ListedObject): readonly Action[] {
  const { operations, path = '', item, singular, deletedBy } = kind;
  const { revision, deletedAt } = object.metadata ?? {};
  if (!operations.includes('delete') || deletedAt !== undefined) return [];
  const name = getObjectName(kind, object);
  const key = item === '{id}' ? getObjectKey(kind, object) : name;
  return [
    {
      label: 'Delete',
      method: 'DELETE',
      path: `${path}/${key.split('/').map(encodeURIComponent).join('/')}`,
      question: `Delete the ${singular} ${name}? There is no way back.`,
      ...(revision !== undefined && { revision }),
      ...(deletedBy && { role: deletedBy }),
    },
  ];
}
