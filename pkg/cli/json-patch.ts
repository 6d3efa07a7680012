import type { PatchStep } from '../../crds/rejections/index.js';

type Holder = Record<string, unknown> | unknown[];

/** The document that a JSON Patch makes of another; undefined when the patch does not fit it. */
export function applyJsonPatch(document: unknown, steps: readonly PatchStep[]): unknown {
  let result: unknown = structuredClone(document);
  for (const step of steps) {
    const next = applied(result, step);
    if (next === undefined) return undefined;
    result = next.document;
  }
  return result;
}

interface Applied {
  readonly document: unknown;
}

function applied(document: unknown, step: PatchStep): Applied | undefined {
  if (step.op !== 'move') return written(document, step);
  const value = valueAt(document, step.from);
  const without = value === undefined ? undefined : written(document, { op: 'remove', path: step.from });
  return without && written(without.document, { op: 'add', path: step.path, value });
}

function written(document: unknown, step: Exclude<PatchStep, { op: 'move' }>): Applied | undefined {
  const parts = partsOf(step.path);
  const name = parts.pop();
  if (name === undefined) return step.op === 'remove' ? undefined : { document: step.value };
  const holder = parts.reduce<unknown>((at, part) => memberOf(at, part), document);
  if (!isHolder(holder)) return undefined;
  if (step.op !== 'add' && memberOf(holder, name) === undefined) return undefined;
  if (Array.isArray(holder)) change(holder, name, step);
  else if (step.op === 'remove') delete holder[name];
  else holder[name] = step.value;
  return { document };
}

function change(list: unknown[], name: string, step: Exclude<PatchStep, { op: 'move' }>): void {
  const position = name === '-' ? list.length : Number(name);
  if (step.op === 'remove') list.splice(position, 1);
  else list.splice(position, step.op === 'add' ? 0 : 1, step.value);
}

function valueAt(document: unknown, path: string): unknown {
  return partsOf(path).reduce<unknown>((at, part) => memberOf(at, part), document);
}

/** Own members only: a patch comes from elsewhere. */
function memberOf(holder: unknown, name: string): unknown {
  return isHolder(holder) && Object.hasOwn(holder, name) ? (holder as Record<string, unknown>)[name] : undefined;
}

function partsOf(path: string): string[] {
  return path
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function isHolder(value: unknown): value is Holder {
  return typeof value === 'object' && value !== null;
}
