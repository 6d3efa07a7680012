import type { PatchStep } from './rejection.js';

type Container = Record<string, unknown> | unknown[];

/** Applies a JSON Patch to a copy of the document. Undefined when the patch does not fit it. */
export function applyJsonPatch(document: unknown, steps: readonly PatchStep[]): unknown {
  // What YAML names by an anchor is one object in several places; a copy as JSON has each for itself.
  const root = { document: JSON.parse(JSON.stringify(document)) as unknown };
  return steps.every(step => applyStep(root, step)) ? root.document : undefined;
}

function applyStep(root: Container, step: PatchStep): boolean {
  if (step.op === 'move') {
    const { from, path } = step;
    const value = toPath(from).reduce<unknown>(getMember, root);
    return (
      value !== undefined &&
      applyStep(root, { op: 'remove', path: from }) &&
      applyStep(root, { op: 'add', path, value })
    );
  }
  const parts = toPath(step.path);
  const name = parts.pop()!;
  const container = parts.reduce<unknown>(getMember, root);
  if (!isContainer(container)) return false;
  if (step.op !== 'add' && getMember(container, name) === undefined) return false;
  if (Array.isArray(container)) {
    const position = name === '-' ? container.length : Number(name);
    container.splice(position, step.op === 'add' ? 0 : 1, ...(step.op === 'remove' ? [] : [step.value]));
  } else if (step.op === 'remove') delete container[name];
  else container[name] = step.value;
  return true;
}

/** `/a~1b/0` → `['a/b', '0']` */
export function parsePointer(pointer: string): string[] {
  const [, ...parts] = pointer.split('/');
  return parts.map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The path from the root, which holds the document. */
function toPath(pointer: string): string[] {
  return ['document', ...parsePointer(pointer)];
}

/** Own members only: a patch comes from the server and must not reach a prototype. */
function getMember(container: unknown, name: string): unknown {
  return isContainer(container) && Object.hasOwn(container, name)
    ? (container as Record<string, unknown>)[name]
    : undefined;
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}
