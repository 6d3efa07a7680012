import { readFileSync } from 'node:fs';

import { type ErrorCode, isScalar, LineCounter, parseAllDocuments } from 'yaml';

import { UsageFault } from './faults.js';
import type { Locate } from './print/refusal.js';
import type { Terminal } from './terminal.js';

/** One object that a person wrote, and where its fields stand. */
export interface Declared {
  readonly value: Readonly<Record<string, unknown>>;
  /** `web.yaml:12:3`, for what cannot be told by a field. */
  readonly place: string;
  readonly locate: Locate;
}

/** Reads every object of a file; `-` is standard input. A JSON file is read as the YAML that it is. */
export async function readDeclared(file: string, terminal: Terminal): Promise<readonly Declared[]> {
  const text = file === '-' ? await terminal.readInput() : readText(file);
  const found = declaredIn(text, file === '-' ? 'standard input' : file);
  if (found.length === 0) throw new UsageFault(`${file}: holds no object.`);
  return found;
}

/** The objects in a text. All mistakes of syntax are told at once, each with its line and column. */
export function declaredIn(text: string, source: string): readonly Declared[] {
  const counter = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: counter, logLevel: 'error' });
  if (!Array.isArray(documents)) return [];

  const at = (offset: number): string => {
    const { line, col } = counter.linePos(offset);
    return `${source}:${line}:${col}`;
  };
  const mistakes = documents.flatMap(({ errors }) =>
    errors.map(({ pos, code, message }) => `${at(pos[0])}: ${UNQUOTED[code] ?? firstLine(message)}`),
  );
  if (mistakes.length > 0) throw new UsageFault(mistakes.join('\n'));

  return documents
    .filter(({ contents }) => !isEmpty(contents))
    .map(document => {
      const place = at(document.contents?.range?.[0] ?? 0);
      const value = plainValue(document, place);
      if (!isMap(value)) throw new UsageFault(`${place}: must be a map with kind and name.`);
      const locate: Locate = field => {
        const offset = offsetOf(path => document.getIn(path, true), field);
        return offset === undefined ? undefined : at(offset);
      };
      return { value, place, locate };
    });
}

/** Whether nothing but comments stands between two separators. A null that somebody wrote is not nothing. */
function isEmpty(contents: unknown): boolean {
  return contents === null || (isScalar(contents) && contents.value === null && contents.source === '');
}

/** The nearest node that exists on the way to a field: a field that is missing is shown where it should have been. */
function offsetOf(nodeAt: (path: readonly (string | number)[]) => unknown, field: string): number | undefined {
  const path = pathOf(field);
  for (let length = path.length; length > 0; length--) {
    const node = nodeAt(path.slice(0, length)) as { readonly range?: readonly number[] | null } | undefined;
    if (node?.range) return node.range[0];
  }
  return undefined;
}

/** `ports[0].containerPort` → `['ports', 0, 'containerPort']` */
function pathOf(field: string): readonly (string | number)[] {
  return [...field.matchAll(/\[(\d+)\]|\["([^"]*)"\]|([^.[\]]+)/g)].map(([, index, quoted, name]) =>
    index === undefined ? (quoted ?? name ?? '') : Number(index),
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageFault(`${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** What the library would quote a piece of the file for: there may be a credential in it, so the place must do. */
const UNQUOTED: Readonly<Partial<Record<ErrorCode, string>>> = {
  UNEXPECTED_TOKEN: 'Something stands here that does not belong',
  TAG_RESOLVE_FAILED: 'Unknown tag; a value that begins with ! needs quotes',
  BAD_DIRECTIVE: 'Unknown directive',
  BAD_DQ_ESCAPE: 'Invalid escape sequence',
};

function plainValue(document: { toJS(): unknown }, place: string): unknown {
  try {
    return document.toJS();
  } catch {
    throw new UsageFault(`${place}: An alias cannot be followed; a value that begins with * needs quotes`);
  }
}

// The library repeats the offending lines below its message.
function firstLine(message: string): string {
  return (message.split('\n')[0] ?? message).replace(/ at line \d+, column \d+:?$/, '');
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
