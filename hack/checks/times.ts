/**
 * The check that no test asserts how long something took. A test also runs on a busy machine, where every absolute time
 * is wrong some day: hold the growth of a cost or count steps instead (dev/testing), and put figures into `make bench`.
 *
 * One idea to hold: it follows names, not values. A name is a reading of a clock, a duration (the difference of two
 * readings), or a verdict (a duration compared with something that is none). A verdict must not decide a test.
 *
 * @module
 */
import type { Source } from './source-files.js';

/** Reads a clock of the machine. A simulated clock is none. */
const CLOCK =
  /\bprocess\.(?:cpuUsage|hrtime|resourceUsage)|\bperformance\.now\(|\bDate\.now\(|\bnew Date\(\)(?!\.to)|\bsystemClock\.(?:now|monotonic)\(/;
/** Is a duration at once. */
const SPAN = /\bmeasureCpu\(|\bperformance\.measure\(|\bprocess\.(?:cpuUsage|hrtime)\(\w/;
const RELATION =
  /\.(?:below|above|most|least|within|lessThan|greaterThan|lessThanOrEqual|greaterThanOrEqual|lt|gt|lte|gte|closeTo|approximately|isBelow|isAbove|isAtMost|isAtLeast)\(|\s[<>]=?\s/;

/** Comments, texts and patterns: a time in a message is told, not asserted. */
const NO_CODE =
  /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[^])*`|(?<=[(,=:]\s*)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g;
const DECLARATION = /\b(?:const|let) (?:\{([^}]*)\}|\[([^\]]*)\]|(\w+))(?:: [^=;]+)? = (?=([^;]*))/g;
const ASSIGNMENT = /\b(\w+)(?: (?:\?\?=|=|\+=) |\.push\()(?=([^;\n]*))/g;
/** A function with a body, which ends at the first brace of its own indentation. */
const FUNCTION =
  /^( *)(?:export )?(?:async )?(?:function (\w+)|const (\w+) = (?:async )?(?:\(|\w+ =>))[^;]*?\{\n(?=([^]*?)\n\1\})/gm;
const RETURN = /\breturn ([^;]*)/g;
const WAITING = /\buntil\w*\(/;

const STATEMENT = /(?<![.\w])(?:expect|assert(?:\.\w+)?)\([^;]*/g;
const FAILURE = /\bif \(([^;{}]*)\)\s*\{?\s*(?:throw\b|(?:(?:expect|assert)\.)?fail\(|reject\()/g;

/** Tests of real processes have no simulated clock: a limit in milliseconds is one of the machine's. */
const REAL_TIME = /\.(?:etcd|docker|bao|kernel)\.test\.ts$|^e2e\/(?!simulation\/)/;
const LIMIT_IN_MS = /(?:\.(?:below|most|within|lessThan|closeTo)\(|\s<=?\s)[^)]*(?:_MS\b|SECONDS\b)/;

/** Assertions about how long something took, in tests and in what helps them. */
export function findAssertedTimes(sources: readonly Source[]): string[] {
  return sources.filter(({ path }) => /\.(?:test|contract|testing)\.ts$|^e2e\//.test(path)).flatMap(findIn);
}

function findIn({ path, text }: Source): string[] {
  const code = text.replace(NO_CODE, part => part.replace(/[^\n]/g, ''));
  const times = new NamedTimes(code);
  const statements = [...code.matchAll(STATEMENT)].filter(
    ([all]) => times.isVerdict(all, CLOCK) || (REAL_TIME.test(path) && LIMIT_IN_MS.test(all)),
  );
  const failures = [...code.matchAll(FAILURE)].filter(([, condition]) => times.isVerdict(condition!));
  return [...statements, ...failures]
    .map(({ index }) => code.slice(0, index).split('\n').length)
    .sort((a, b) => a - b)
    .map(line => `${path}:${line}: asserts an absolute time`);
}

/** What the names of a file stand for, wherever in it they are. */
class NamedTimes {
  readonly #readings = new Set<string>();
  readonly #durations = new Set<string>();
  readonly #verdicts = new Set<string>();

  constructor(code: string) {
    for (let before = -1; before < this.#size; ) {
      before = this.#size;
      for (const [, object, list, single, expression] of code.matchAll(DECLARATION)) {
        const names = (object ?? list ?? single ?? '').split(',').map(part => part.split(':').at(-1)!.trim());
        for (const name of names) this.#learn(name, expression!);
      }
      for (const [, name, expression] of code.matchAll(ASSIGNMENT)) this.#learn(name!, expression!);
      for (const [, , declared, assigned, body] of code.matchAll(FUNCTION))
        for (const [, returned] of body!.matchAll(RETURN)) this.#learn((declared ?? assigned)!, returned!);
    }
  }

  get #size(): number {
    return this.#readings.size + this.#durations.size + this.#verdicts.size;
  }

  #learn(name: string, expression: string): void {
    const [own = ''] = expression.split(/=>\s*\{/);
    if (name === '' || WAITING.test(own)) return;
    if (this.#isReading(own.replace(/^(?:(?:async )?\(\) => |[[(]|await |Math\.\w+\()+/, ''))) this.#readings.add(name);
    if (this.#isDuration(own)) this.#durations.add(name);
    if (this.isVerdict(own)) this.#verdicts.add(name);
  }

  /** Whether it compares a duration with something that is none, or says what such a comparison said. `also` counts as a duration. */
  isVerdict(expression: string, also?: RegExp): boolean {
    if (mentions(expression, this.#verdicts)) return true;
    return expression.split(/&&|\|\||\?\?/).some(part => {
      const sides = part.split(RELATION).map(side => this.#isDuration(side, also));
      return sides.length > 1 && sides.includes(true) && sides.includes(false);
    });
  }

  #isReading(expression: string): boolean {
    const [first = ''] = /^\+?(?:new )?[\w.!?#]+(?:\(\)?)?/.exec(expression) ?? [];
    return CLOCK.test(first) || this.#readings.has(/(\w+)\W*$/.exec(first)?.[1] ?? '');
  }

  #isDuration(expression: string, also?: RegExp): boolean {
    const [over = '', under, ...more] = expression.split(/\s\/\s/);
    // How a cost grows is no time.
    if (under !== undefined && more.length === 0 && this.#isDuration(over) && this.#isDuration(under)) return false;
    if (SPAN.test(expression) || also?.test(expression) || mentions(expression, this.#durations)) return true;
    const [left = '', ...subtracted] = expression.split(/\s-\s/);
    return subtracted.some(right => this.#isReading(right) || (CLOCK.test(left) && /^[a-z]/.test(right)));
  }
}

function mentions(expression: string, names: ReadonlySet<string>): boolean {
  return [...expression.matchAll(/\b[A-Za-z_]\w*/g)].some(([name]) => names.has(name));
}
