import { isDeepStrictEqual } from 'node:util';

import { type FieldManager, type FieldOwners, hashText, toCanonicalText } from '../../crds/meta/index.js';
import { editTree, type FieldTree, findAt, isSet, listAncestors, listLeaves, PointerSet } from './fields.js';

/** A manager, and the fields that it has set. */
export interface Owner {
  readonly manager: FieldManager;
  readonly pointers: ReadonlySet<string>;
}

/** Who has set everything that was there when owners were first asked for. */
const FIRST = 'before-first-apply';
/** Who has changed a field that no client of Kubernetes has: our own API, the command line, a loop. */
const OURS = 'mooring-api';
/** Who has set what managers of long ago have set. */
const ANCIENT = 'ancient-changes';
const UPDATERS_MAX = 10;

/**
 * The owners of an object as it is now. Nothing else writes them down: a field whose value is another one than when they were
 * last recorded was changed by a writer that is no client of Kubernetes, and is that writer's.
 */
export function readOwners(recorded: FieldOwners | undefined, live: FieldTree, at: string): readonly Owner[] {
  const leaves = listLeaves(live);
  if (!recorded) return [{ manager: { name: FIRST, operation: 'Update', at }, pointers: new Set(leaves.keys()) }];
  const kept = recorded.managers.map(() => new Set<string>());
  const changed = new Set<string>();
  for (const [pointer, [known, ...owners]] of Object.entries(recorded.fields)) {
    const value = findAt(live, pointer);
    if (digest(value) === known) for (const owner of owners) kept[owner]?.add(pointer);
    else if (value !== undefined) changed.add(pointer);
  }
  const isRecorded = (pointer: string) => Object.hasOwn(recorded.fields, pointer);
  for (const pointer of leaves.keys()) {
    if (!isRecorded(pointer) && ![...listAncestors(pointer)].some(isRecorded)) changed.add(pointer);
  }
  const owners = recorded.managers.map((manager, at_) => ({ manager, pointers: kept[at_]! }));
  return give(owners, { name: OURS, operation: 'Update', at }, changed);
}

/**
 * The owners as they are stored with an object: with what every field is, so that later changes show. Where only the times
 * differ from what is recorded, no manager has changed anything, and that stays.
 */
export function recordOwners(owners: readonly Owner[], live: FieldTree, recorded?: FieldOwners): FieldOwners {
  const managers = owners.filter(({ pointers }) => pointers.size > 0);
  const pointers = new Set([...listLeaves(live).keys(), ...managers.flatMap(owner => [...owner.pointers])]);
  const fields = [...pointers].sort().map((pointer): [string, FieldOwners['fields'][string]] => {
    const places = managers.flatMap((owner, place) => (owner.pointers.has(pointer) ? [place] : []));
    return [pointer, [digest(findAt(live, pointer)), ...places]];
  });
  const next = { managers: managers.map(({ manager }) => manager), fields: Object.fromEntries(fields) };
  const isSame =
    recorded?.managers.length === managers.length &&
    recorded.managers.every((each, place) => isSameManager(each, next.managers[place]!)) &&
    isDeepStrictEqual(recorded.fields, next.fields);
  return isSame ? recorded : next;
}

function digest(value: unknown): string {
  return value === undefined ? '' : hashText(toCanonicalText({ value })).slice(0, 12);
}

/** The owners after a manager has changed an object without server-side apply: what it changed is its own. */
export function ownChanges(
  owners: readonly Owner[],
  { before, after, manager }: { readonly before: FieldTree; readonly after: FieldTree; readonly manager: FieldManager },
): readonly Owner[] {
  const leaves = listLeaves(after);
  const changed = [...leaves].filter(([pointer, value]) => !isDeepStrictEqual(findAt(before, pointer), value));
  const present = owners.map(({ manager: each, pointers }) => ({
    manager: each,
    pointers: new Set([...pointers].filter(pointer => findAt(after, pointer) !== undefined)),
  }));
  return give(present, manager, new Set(changed.map(([pointer]) => pointer)));
}

/** Takes fields from all others. */
function give(owners: readonly Owner[], manager: FieldManager, pointers: ReadonlySet<string>): readonly Owner[] {
  if (pointers.size === 0) return owners;
  const own = owners.find(each => isSameManager(each.manager, manager));
  const others = owners.filter(each => each !== own).map(each => withoutFields(each, pointers));
  return boundUpdaters([...others, { manager, pointers: new Set([...(own?.pointers ?? []), ...pointers]) }]);
}

function withoutFields({ manager, pointers }: Owner, taken: ReadonlySet<string>): Owner {
  const gone = new PointerSet(taken);
  const isTaken = (pointer: string) =>
    taken.has(pointer) || gone.isAbove(pointer) || [...listAncestors(pointer)].some(above => taken.has(above));
  return { manager, pointers: new Set([...pointers].filter(pointer => !isTaken(pointer))) };
}

/** The managers of the oldest changes are forgotten, and not that the fields were set. */
function boundUpdaters(owners: readonly Owner[]): readonly Owner[] {
  const updaters = owners.filter(({ manager, pointers }) => manager.operation === 'Update' && pointers.size > 0);
  if (updaters.length <= UPDATERS_MAX) return owners;
  const oldest = updaters
    .toSorted((a, b) => (a.manager.at < b.manager.at ? -1 : 1))
    .slice(0, updaters.length - UPDATERS_MAX + 1);
  const pointers = new Set(oldest.flatMap(owner => [...owner.pointers]));
  const at = oldest.at(-1)!.manager.at;
  const ancient: Owner = { manager: { name: ANCIENT, operation: 'Update', at }, pointers };
  return [ancient, ...owners.filter(owner => !oldest.includes(owner))];
}

function isSameManager(a: FieldManager, b: FieldManager): boolean {
  return a.name === b.name && a.operation === b.operation;
}

/** What a manager wants to be set by server-side apply, over what is stored. */
export interface Application {
  readonly live: FieldTree;
  readonly owners: readonly Owner[];
  /** All that the manager says: what it said before and does not say any more is removed. */
  readonly sent: FieldTree;
  readonly manager: FieldManager;
  /** Takes over what others have set otherwise. */
  readonly force: boolean;
}

/** A field that another manager has set otherwise. */
export interface FieldConflict {
  readonly pointer: string;
  readonly manager: FieldManager;
}

export type ApplyResult =
  | { readonly ok: true; readonly tree: FieldTree; readonly owners: readonly Owner[] }
  | { readonly ok: false; readonly conflicts: readonly FieldConflict[] };

/** Server-side apply: sets what is sent, removes what only this manager had set, and touches nothing of others unless forced. */
export function applyFields({ live, owners, sent, manager, force }: Application): ApplyResult {
  const said = listLeaves(sent);
  const different = [...said].filter(([pointer, value]) => !isSet(live, pointer, value)).map(([pointer]) => pointer);
  const own = owners.find(each => isSameManager(each.manager, manager));
  const others = owners.filter(each => each !== own);
  const conflicts = others.flatMap(other => {
    const theirs = new PointerSet(other.pointers);
    return different.filter(each => theirs.touches(each, live)).map(pointer => ({ pointer, manager: other.manager }));
  });
  if (conflicts.length > 0 && !force) return { ok: false, conflicts };

  const left = others.map(other => withoutFields(other, new Set(conflicts.map(({ pointer }) => pointer))));
  const theirs = left.map(({ pointers }) => new PointerSet(pointers));
  const below = new PointerSet(said.keys());
  const removed = [...(own?.pointers ?? [])].filter(
    pointer => !said.has(pointer) && !below.isAbove(pointer) && !theirs.some(each => each.touches(pointer, live)),
  );
  const kept = { manager, pointers: new Set(said.keys()) };
  const at = own ? owners.indexOf(own) : left.length;
  return { ok: true, tree: editTree(live, removed, said), owners: left.toSpliced(at, 0, kept) };
}

/** `metadata.managedFields`: the owners as Kubernetes writes them. */
export function toManagedFields(owners: readonly Owner[], apiVersion: string): readonly object[] {
  return owners
    .filter(({ pointers }) => pointers.size > 0)
    .map(({ manager: { name, operation, at }, pointers }) => {
      const empty = Object.fromEntries([...pointers].map(pointer => [toFieldsPointer(pointer), {}]));
      const fieldsV1 = editTree({}, [], new Map(Object.entries(empty)));
      return {
        manager: name,
        operation,
        apiVersion,
        time: at.replace(/\.\d+Z$/, 'Z'),
        fieldsType: 'FieldsV1',
        fieldsV1,
      };
    });
}

/** `/spec/image` → `/f:spec/f:image`. */
function toFieldsPointer(pointer: string): string {
  return pointer.replaceAll('/', '/f:');
}
