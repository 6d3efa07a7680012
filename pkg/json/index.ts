/**
 * Parses untrusted JSON.
 *
 * `parseJson` accepts what `JSON.parse` accepts, except what would be dangerous or silently altered: deep nesting, too many
 * values, long or duplicate keys, keys that reach into prototypes, broken Unicode, control characters, and numbers that a double
 * cannot represent. It scans every byte once before the built-in parser runs.
 *
 * It leaves to others what a document means.
 *
 * @module
 */
import { isUtf8 } from 'node:buffer';

export interface JsonLimits {
  /** Maximum nesting of objects and arrays. */
  readonly maxDepth: number;
  /** Maximum number of keys and values. */
  readonly maxTokens: number;
  /** Maximum length of a key, in characters. */
  readonly maxKeyLength: number;
}

export interface JsonProblem {
  readonly kind:
    | 'syntax'
    | 'utf8'
    | 'bom'
    | 'depth'
    | 'tokens'
    | 'key_length'
    | 'duplicate_key'
    | 'forbidden_key'
    | 'surrogate'
    | 'control_character'
    | 'number';
  /** Where in the document, as a field path; empty at the top. */
  readonly path: string;
  /** Offset of the problem in characters. */
  readonly offset: number;
  /** Human-readable. Quotes no value. */
  readonly message: string;
}

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: JsonProblem };

const DEFAULTS: JsonLimits = { maxDepth: 32, maxTokens: 20_000, maxKeyLength: 4096 };
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

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const LOWER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const LITERAL = /true|false|null/y;
const HEX = /^[0-9a-f]{4}$/i;
const SIMPLE_ESCAPES = '"\\/bfnrt';
const REFUSED_ESCAPES = 'bf';
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

interface Level {
  /** The keys so far; undefined in an array. */
  readonly keys: Set<string> | undefined;
  /** The current key or index, for the path of a problem. Undefined while the key is read. */
  at: string | number | undefined;
}

/** Stops the scan. Never leaves this file. */
class Stop {
  readonly problem: JsonProblem;

  constructor(problem: JsonProblem) {
    this.problem = problem;
  }
}

/** One pass over a text. Accepts a subset of what `JSON.parse` accepts, without building anything. */
class JsonScan {
  readonly #text: string;
  readonly #limits: JsonLimits;
  readonly #levels: Level[] = [];
  #offset = 0;
  #tokens = 0;

  constructor(text: string, limits: JsonLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  problem(): JsonProblem | undefined {
    try {
      this.#document();
      return undefined;
    } catch (thrown) {
      if (thrown instanceof Stop) return thrown.problem;
      throw thrown;
    }
  }

  /** Alternates between values and closing brackets, with an explicit stack instead of recursion. */
  #document(): void {
    do {
      if (this.#value()) continue;
      this.#close();
    } while (this.#levels.length > 0);
    if (this.#skip() === this.#text.length) return;
    this.#stop('syntax', 'there is content after the end of the document');
  }

  /** Reads one value. True when it opened a non-empty level, so that another value follows. */
  #value(): boolean {
    const code = this.#text.charCodeAt(this.#skip());
    this.#count();
    if (code === OPEN_OBJECT) return this.#open(CLOSE_OBJECT);
    if (code === OPEN_ARRAY) return this.#open(CLOSE_ARRAY);
    if (code === QUOTE) this.#string();
    else if (code === 0x74 || code === 0x66 || code === 0x6e) this.#take(LITERAL);
    else this.#number();
    return false;
  }

  #open(closing: number): boolean {
    if (this.#levels.length === this.#limits.maxDepth) {
      this.#stop('depth', `the document is nested deeper than ${this.#limits.maxDepth} levels`);
    }
    const isObject = closing === CLOSE_OBJECT;
    this.#offset++;
    if (this.#text.charCodeAt(this.#skip()) === closing) {
      this.#offset++;
      return false;
    }
    this.#levels.push({ keys: isObject ? new Set() : undefined, at: isObject ? undefined : 0 });
    if (isObject) this.#key();
    return true;
  }

  /** After a value: moves to the next one of the level, or closes all levels that end here. */
  #close(): void {
    while (this.#levels.length > 0) {
      const level = this.#levels[this.#levels.length - 1]!;
      const code = this.#text.charCodeAt(this.#skip());
      if (code === COMMA) {
        this.#offset++;
        if (level.keys) this.#key();
        else level.at = (level.at as number) + 1;
        return;
      }
      if (code !== (level.keys ? CLOSE_OBJECT : CLOSE_ARRAY))
        this.#stop('syntax', 'expected a comma or a closing bracket');
      this.#offset++;
      this.#levels.pop();
    }
  }

  #key(): void {
    const level = this.#levels[this.#levels.length - 1]!;
    const start = this.#skip();
    level.at = undefined;
    if (this.#text.charCodeAt(start) !== QUOTE) this.#stop('syntax', 'expected a key in double quotes');
    this.#count();
    const escaped = this.#string();
    const raw = this.#text.slice(start + 1, this.#offset - 1);
    level.at = raw;
    const { maxKeyLength } = this.#limits;
    if (raw.length > maxKeyLength) this.#stop('key_length', `the key is longer than ${maxKeyLength} characters`);
    const key = escaped ? (JSON.parse(`"${raw}"`) as string) : raw;
    level.at = key;
    if (FORBIDDEN_KEYS.has(key))
      this.#stop('forbidden_key', 'the keys __proto__, constructor and prototype are not accepted');
    if (level.keys!.has(key)) this.#stop('duplicate_key', 'the key occurs twice in one object');
    level.keys!.add(key);
    if (this.#text.charCodeAt(this.#skip()) !== COLON) this.#stop('syntax', 'expected a colon after the key');
    this.#offset++;
  }

  /** Skips a string. Returns whether it contains an escape. */
  #string(): boolean {
    const text = this.#text;
    let escaped = false;
    let at = this.#offset + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        escaped = true;
        at = this.#escape(at);
      } else if (code >= SPACE) at++;
      else {
        this.#offset = at;
        this.#stop('syntax', at < text.length ? 'a control character in a string' : 'the string has no closing quote');
      }
    }
    this.#offset = at + 1;
    return escaped;
  }

  /** Checks the escape at `at` and returns the offset after it; a surrogate pair is one escape. */
  #escape(at: number): number {
    const text = this.#text;
    this.#offset = at;
    if (text.charCodeAt(at + 1) !== LOWER_U) {
      const letter = text.charAt(at + 1);
      if (letter === '' || !SIMPLE_ESCAPES.includes(letter))
        this.#stop('syntax', 'the string contains an unknown escape');
      if (REFUSED_ESCAPES.includes(letter)) this.#stop('control_character', 'the string contains a control character');
      return at + 2;
    }
    const unit = this.#unit(at);
    if (unit < SPACE && unit !== TAB && unit !== LINE_FEED && unit !== CARRIAGE_RETURN) {
      this.#stop('control_character', 'the string contains a control character');
    }
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;

    const next = unit <= 0xdbff && text.startsWith('\\u', at + 6) ? this.#unit(at + 6) : 0;
    if (next < 0xdc00 || next > 0xdfff) this.#stop('surrogate', 'the string contains half a surrogate pair');
    return at + 12;
  }

  /** The code unit of the `\uXXXX` at `at`. */
  #unit(at: number): number {
    const digits = this.#text.slice(at + 2, at + 6);
    if (!HEX.test(digits)) this.#stop('syntax', '\\u must be followed by four hexadecimal digits');
    return Number.parseInt(digits, 16);
  }

  #number(): void {
    const start = this.#offset;
    this.#take(NUMBER);
    const value = Number(this.#text.slice(start, this.#offset));
    if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return;
    this.#offset = start;
    this.#stop('number', 'the number is too large to be represented exactly');
  }

  #take(form: RegExp): void {
    form.lastIndex = this.#offset;
    if (!form.test(this.#text)) this.#stop('syntax', 'expected a value');
    this.#offset = form.lastIndex;
  }

  #skip(): number {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.#offset);
      if (code !== SPACE && code !== LINE_FEED && code !== CARRIAGE_RETURN && code !== TAB) return this.#offset;
      this.#offset++;
    }
  }

  #count(): void {
    if (++this.#tokens > this.#limits.maxTokens) {
      this.#stop('tokens', `the document has more than ${this.#limits.maxTokens} keys and values`);
    }
  }

  #stop(kind: JsonProblem['kind'], message: string): never {
    throw new Stop({ kind, path: formatPath(this.#levels), offset: this.#offset, message });
  }
}

const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_-]{0,62}$/;

function formatPath(levels: readonly Level[]): string {
  return levels
    .map(({ at }) => {
      if (at === undefined) return '';
      if (typeof at === 'number') return `[${at}]`;
      return PLAIN_KEY.test(at) ? `.${at}` : `[${JSON.stringify(at.slice(0, 64))}]`;
    })
    .join('')
    .replace(/^\./, '');
}
