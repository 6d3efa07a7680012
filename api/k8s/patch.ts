import { isDeepStrictEqual } from 'node:util';

import { isFields } from '../http/body.js';

type Container = Record<string, unknown> | unknown[];

/** A JSON Merge Patch (RFC 7396): members replace, objects are merged, and null removes. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const merged: Record<string, unknown> = isFields(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else define(merged, name, applyMergePatch(Object.hasOwn(merged, name) ? merged[name] : undefined, value));
  }
  return merged;
}

/** As many steps as one patch may have: each costs as much as what it moves. */
const MAX_STEPS = 1_000;

/** A JSON Patch (RFC 6902) on a copy of a document. Undefined when it is none, or does not fit the document. */
export function applyPatchSteps(document: unknown, steps: unknown): { readonly document: unknown } | undefined {
  if (!Array.isArray(steps) || steps.length > MAX_STEPS) return undefined;
  const root = { document: structuredClone(document) };
  return steps.every(step => isFields(step) && applyStep(root, step)) ? root : undefined;
}

function applyStep(root: Container, { op, path, from, value }: Readonly<Record<string, unknown>>): boolean {
  const at = readPointer(path);
  if (!at) return false;
  switch (op) {
    case 'add':
      return value !== undefined && add(root, at, structuredClone(value));
    case 'remove':
      return remove(root, at);
    case 'replace':
      return value !== undefined && remove(root, at) && add(root, at, structuredClone(value));
    case 'test':
      return isDeepStrictEqual(find(root, at), value);
    case 'copy':
    case 'move': {
      const source = readPointer(from);
      const moved = source && find(root, source);
      if (moved === undefined) return false;
      const isThere = op === 'copy' || remove(root, source!);
      return isThere && add(root, at, op === 'copy' ? structuredClone(moved) : moved);
    }
    default:
      return false;
  }
}

function add(root: Container, at: readonly string[], value: unknown): boolean {
  const container = find(root, at.slice(0, -1));
  const name = at.at(-1)!;
  if (Array.isArray(container)) {
    const position = name === '-' ? container.length : readPosition(name, container.length);
    if (position === undefined) return false;
    container.splice(position, 0, value);
    return true;
  }
  if (!isFields(container)) return false;
  define(container, name, value);
  return true;
}

function remove(root: Container, at: readonly string[]): boolean {
  const container = find(root, at.slice(0, -1));
  const name = at.at(-1)!;
  if (find(root, at) === undefined) return false;
  if (Array.isArray(container)) container.splice(Number(name), 1);
  else delete (container as Record<string, unknown>)[name];
  return true;
}

/** Own members only: a patch must not reach a prototype. */
function find(root: unknown, at: readonly string[]): unknown {
  return at.reduce<unknown>((container, name) => {
    if (Array.isArray(container)) return container[readPosition(name, container.length - 1) ?? -1] as unknown;
    return isFields(container) && Object.hasOwn(container, name) ? container[name] : undefined;
  }, root);
}

function readPosition(name: string, most: number): number | undefined {
  return /^(?:0|[1-9]\d{0,8})$/.test(name) && Number(name) <= most ? Number(name) : undefined;
}

/** `/a~1b/0` → `['document', 'a/b', '0']`: the path from the root, which holds the document. */
function readPointer(pointer: unknown): readonly string[] | undefined {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/'))) return undefined;
  const [, ...parts] = pointer.split('/');
  return ['document', ...parts.map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))];
}

/** A name such as `__proto__` is a member like others. */
export function define(container: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(container, name, { value, writable: true, enumerable: true, configurable: true });
}
