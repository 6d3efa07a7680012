import { isDeepStrictEqual } from 'node:util';

import { escapePointer } from '../../crds/grammar/index.js';
import { type Fields, isFields } from '../http/body.js';
import { define } from './patch.js';

/** The parts of an object that have owners: labels, annotations and the spec. */
export type FieldTree = Fields;

/** Parts that every object has: no manager sets them as a whole. */
const ROOTS: ReadonlySet<string> = new Set(['', '/metadata', '/metadata/labels', '/metadata/annotations', '/spec']);

/**
 * What a tree says, by pointer. Maps are looked into; a list is one value, as our own API replaces lists whole, and so is a
 * map without entries. Null says nothing.
 */
export function listLeaves(tree: unknown, at = '', found = new Map<string, unknown>()): Map<string, unknown> {
  if (isFields(tree) && Object.keys(tree).length > 0) {
    for (const [name, value] of Object.entries(tree)) listLeaves(value, `${at}/${escapePointer(name)}`, found);
  } else if (tree !== undefined && tree !== null && !ROOTS.has(at)) {
    found.set(at, tree);
  }
  return found;
}

function splitPointer(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** What stands at a pointer; undefined when nothing does. */
export function findAt(tree: unknown, pointer: string): unknown {
  return splitPointer(pointer).reduce<unknown>(
    (value, name) => (isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    tree,
  );
}

/** `/a/b/c` → `/a/b`, `/a`. */
export function* listAncestors(pointer: string): Generator<string> {
  for (let end = pointer.lastIndexOf('/'); end > 0; end = pointer.lastIndexOf('/', end - 1)) {
    yield pointer.slice(0, end);
  }
}

/** Whether a field has a value already: of a map without entries, that there is a map. */
export function isSet(tree: FieldTree, pointer: string, value: unknown): boolean {
  const known = findAt(tree, pointer);
  return isDeepStrictEqual(known, value) || (isEmptyMap(value) && isFields(known));
}

function isEmptyMap(value: unknown): boolean {
  return isFields(value) && Object.keys(value).length === 0;
}

/** A set of pointers that finds what lies above and below one of them. */
export class PointerSet {
  readonly pointers: ReadonlySet<string>;
  readonly #above: ReadonlySet<string>;

  constructor(pointers: Iterable<string>) {
    this.pointers = new Set(pointers);
    this.#above = new Set([...this.pointers].flatMap(pointer => [...listAncestors(pointer)]));
  }

  /** One of them lies below the pointer. */
  isAbove(pointer: string): boolean {
    return this.#above.has(pointer);
  }

  /** Setting the pointer changes one of them: it is one, lies above one, or lies below one that is a whole value in the tree. */
  touches(pointer: string, tree: FieldTree): boolean {
    if (this.pointers.has(pointer) || this.#above.has(pointer)) return true;
    for (const above of listAncestors(pointer)) {
      if (this.pointers.has(above) && !isFields(findAt(tree, above))) return true;
    }
    return false;
  }
}

/** A copy of a tree without some fields, nor the maps that have become empty by it, and with others set. */
export function editTree(tree: FieldTree, removed: Iterable<string>, set: ReadonlyMap<string, unknown>): FieldTree {
  const edited = structuredClone(tree) as Record<string, unknown>;
  for (const pointer of removed) removeAt(edited, pointer);
  for (const [pointer, value] of set) {
    if (!isSet(edited, pointer, value)) setAt(edited, splitPointer(pointer), structuredClone(value));
  }
  return edited;
}

function removeAt(tree: Record<string, unknown>, pointer: string): void {
  for (const at of [pointer, ...listAncestors(pointer)]) {
    if (ROOTS.has(at)) return;
    const parts = splitPointer(at);
    const parent = findAt(tree, at.slice(0, at.lastIndexOf('/')));
    if (!isFields(parent)) return;
    if (at !== pointer && !isEmptyMap(findAt(tree, at))) return;
    delete (parent as Record<string, unknown>)[parts.at(-1)!];
  }
}

function setAt(tree: Record<string, unknown>, parts: readonly string[], value: unknown): void {
  let container = tree;
  for (const name of parts.slice(0, -1)) {
    const next = Object.hasOwn(container, name) ? container[name] : undefined;
    if (!isFields(next)) define(container, name, {});
    container = container[name] as Record<string, unknown>;
  }
  define(container, parts.at(-1)!, value);
}
