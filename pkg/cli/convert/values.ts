import { parseDuration } from '../../../crds/grammar/index.js';

export type ComposeMap = Readonly<Record<string, unknown>>;

/** Says what is not carried over, or not as it was. */
export type AddNote = (message: string) => undefined;

export function isMap(value: unknown): value is ComposeMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const VARIABLE = /\$(?:\$|\{(\w+)(?::?-([^}]*))?\}|(\w+))/g;

/** A value with its variables filled in by their defaults, wherever they stand in it. Those without one stay, and are noted. */
export function fillIn(value: unknown, note: AddNote): unknown {
  if (Array.isArray(value)) return value.map(each => fillIn(each, note));
  if (isMap(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillIn(each, note)]));
  if (typeof value !== 'string') return value;
  return value.replaceAll(VARIABLE, (text, braced?: string, otherwise?: string, plain?: string) => {
    if (text === '$$') return '$';
    if (otherwise !== undefined) return otherwise;
    note(`nothing fills in the variable ${braced ?? plain}: write its value`);
    return text;
  });
}

/** A value that holds no variables, as `fillIn` takes it back. */
export function escapeVariables(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(escapeVariables);
  if (isMap(value)) return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, escapeVariables(each)]));
  return typeof value === 'string' ? value.replaceAll('$', '$$$$') : value;
}

/** A value of any shape, for people. */
export function show(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** The words of a command: a list as it is, a line as a shell would split it, without running one. */
export function readWords(value: unknown, note: AddNote): readonly string[] | undefined {
  if (Array.isArray(value)) return value.map(show);
  if (typeof value !== 'string') return note('must be a text or a list');
  const words: string[] = [];
  let [word, quote, isOpen] = ['', '', false];
  for (let at = 0; at < value.length; at++) {
    const sign = value[at]!;
    const isEscape = sign === '\\' && quote !== "'" && at + 1 < value.length;
    if (isEscape) word += value[++at]!;
    else if (quote !== '' && quote !== sign) word += sign;
    else if (quote !== '') quote = '';
    else if (sign === '"' || sign === "'") quote = sign;
    else if (/\s/.test(sign)) {
      if (isOpen) words.push(word);
      [word, isOpen] = ['', false];
      continue;
    } else word += sign;
    isOpen = true;
  }
  if (quote !== '') return note('has a quote that is not closed');
  return isOpen ? [...words, word] : words;
}

/** A list of `KEY=value`, or a map, as pairs; undefined stands for what has no value. */
export function readPairs(value: unknown): readonly (readonly [name: string, value: string | undefined])[] {
  if (isMap(value)) {
    return Object.entries(value).map(([name, each]) => [name, each === null ? undefined : show(each)]);
  }
  if (!Array.isArray(value)) return [];
  return value.map(show).map(text => {
    const at = text.indexOf('=');
    return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  });
}

export function readText(value: unknown, note: AddNote): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : note('must be a text');
}

export function readCount(value: unknown, note: AddNote): number | undefined {
  return /^\d{1,9}$/.test(show(value)) ? Number(value) : note('must be a number without a sign');
}

export function readDuration(value: unknown, note: AddNote): string | undefined {
  const text = typeof value === 'number' ? `${value}s` : value;
  if (typeof text === 'string' && parseDuration(text) !== undefined) return text;
  return note('is no duration such as 10s or 1m30s');
}

const BYTES = /^(\d{1,15}(?:\.\d{1,3})?) ?(?:([kmg])i?b?|b)?$/i;
const STEPS: Readonly<Record<string, number>> = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** `512m`, `1.5gb` and 1048576 as an amount of ours; their units are powers of 1024. */
export function readMemory(value: unknown, note: AddNote): string | undefined {
  const match = BYTES.exec(show(value));
  if (!match) return note('is no amount such as 512m');
  const bytes = Math.ceil(Number(match[1]) * (STEPS[match[2]?.toLowerCase() ?? ''] ?? 1));
  return bytes % 2 ** 20 === 0 ? `${bytes / 2 ** 20}Mi` : String(bytes);
}
