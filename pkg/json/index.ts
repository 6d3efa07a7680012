/**
 * Parses untrusted JSON.
 *
 * `parseJson` accepts what `JSON.parse` accepts, except what would be dangerous or silently altered: deep nesting, too many
 * values, duplicate keys, keys that reach into prototypes, broken Unicode, control characters, and numbers that a double
 * cannot represent. It scans every byte once before the built-in parser runs.
 *
 * It leaves to others what a document means.
 *
 * @module
 */
import { isUtf8 } from 'node:buffer';

import { type JsonLimits, type JsonProblem, JsonScan } from './json-scan.js';

export type { JsonLimits, JsonProblem } from './json-scan.js';

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem };

const DEFAULTS: JsonLimits = { maxDepth: 32, maxTokens: 20_000 };
const BOM = 0xfeff;

/** Parses a JSON document, or returns why it was refused. The cost is linear in its length, whatever it contains. */
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
