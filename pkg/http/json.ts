import { isUtf8 } from 'node:buffer';

import { JsonScan } from './json-scan.js';

export interface JsonLimits {
  /** How many objects and lists may be open at once. */
  readonly maxDepth: number;
  /** How many keys and values there may be in all. */
  readonly maxTokens: number;
}

/** What is wrong with a text that should have been JSON. */
export interface JsonProblem {
  readonly kind:
    | 'syntax'
    | 'utf8'
    | 'bom'
    | 'depth'
    | 'tokens'
    | 'duplicate_key'
    | 'forbidden_key'
    | 'surrogate'
    | 'control_character'
    | 'number';
  /** Where in the document, as a field path; empty at the top. */
  readonly path: string;
  /** Characters before the fault. */
  readonly offset: number;
  /** One sentence for people. Quotes no value. */
  readonly message: string;
}

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem };

const DEFAULTS: JsonLimits = { maxDepth: 32, maxTokens: 20_000 };
const BOM = 0xfeff;

/** Reads a JSON document, or says what is wrong with it. Takes time in proportion to its length, whatever it holds. */
export function parseJson(bytes: Buffer, limits: JsonLimits = DEFAULTS): ParsedJson {
  if (!isUtf8(bytes)) return refuse('utf8', 'the body must be UTF-8');
  // `utf8Slice` keeps a byte order mark, which `JSON.parse` would then call a syntax error.
  const text = bytes.toString('utf8');
  if (text.charCodeAt(0) === BOM) return refuse('bom', 'the body must not begin with a byte order mark');

  const problem = new JsonScan(text, limits).problem();
  if (problem) return { ok: false, problem };
  return { ok: true, value: JSON.parse(text) };
}

function refuse(kind: JsonProblem['kind'], message: string): ParsedJson {
  return { ok: false, problem: { kind, path: '', offset: 0, message } };
}
