/**
 * The check that the command line and the dashboard name no kinds in lists of their own. What they do with a kind follows
 * from its descriptor, so that a new kind needs an entry in `crds/kinds/list.ts` and nowhere else.
 *
 * One idea to hold: it reads text, not types. A list is an array, a union, a table, or what one declaration compares with,
 * of which more than half, and at least two, are names of kinds.
 *
 * @module
 */
import type { Kind } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import { isTestCode, type Source } from './source-files.js';

/** Files that may have such lists, each with the reason: tables in which a kind is optional, and what few kinds have. */
export const allowedKindLists: Readonly<Record<string, string>> = {
  'pkg/cli/kind-behaviours.ts': 'what is special about some kinds on the command line; every kind is optional',
  'pkg/cli/commands/autoscale.ts': 'use of processor and memory is measured for deployments and nodes',
  'dashboard/model/places.ts': 'what is special about the places of some kinds; every kind is optional',
  'dashboard/view/kind-pages.tsx': 'what is special about the pages of some kinds; every kind is optional',
  'dashboard/data/readings.ts': 'lists whose troubles functions of their own find',
};

const SCANNED = /^(?:pkg\/cli|dashboard)\//;
const COMMENT = /\/\*[^]*?\*\/|(?<=^|\s)\/\/[^\n]*/g;
const ARRAY = /\[([^[\]{}()]*)\]/g;
const UNION = /(?:'[^'\n]+'\s*\|\s*)+'[^'\n]+'/g;
const TABLE = /^(?:export )?const \w+(?:: [^=]*?)? =\s*(?:new \w+\(\s*)?\{\n([^]*?)^\}/gm;
const OBJECT = /\{(?=([^{}]*(?:\{[^{}]*\}[^{}]*)*)\})/g;
const DECLARATION = /^\S[^]*?^\}/gm;
const COMPARED = /([\w.]+) [!=]== '([^'\n]+)'|\b(case) '([^'\n]+)':/g;

/** Lists of kinds that are written by hand, and allowances that nothing needs. */
export function findKindLists(
  sources: readonly Source[],
  allowed: Readonly<Record<string, string>> = allowedKindLists,
  known: readonly Kind[] = kinds,
): string[] {
  const words = new KindWords(known);
  const found = sources
    .filter(({ path }) => SCANNED.test(path) && !isTestCode(path))
    .flatMap(({ path, text }) => words.findLists(text).map(list => ({ path, ...list })));
  const unneeded = Object.keys(allowed).filter(path => !found.some(list => list.path === path));
  return [
    ...found
      .filter(({ path }) => !Object.hasOwn(allowed, path))
      .map(
        ({ path, line, named }) => `${path}:${line}: lists kinds by hand (${named}): derive the list from crds/kinds`,
      ),
    ...unneeded.map(path => `hack/checks/kind-lists.ts: ${path} is allowed to list kinds, and does not`),
  ];
}

class KindWords {
  /** `Deployment`, which no field is called. */
  readonly #titles: ReadonlySet<string>;
  readonly #all: ReadonlySet<string>;

  constructor(known: readonly Kind[]) {
    this.#titles = new Set(known.map(({ kind }) => kind));
    const names = known.flatMap(({ singular, plural }) => [singular, plural]);
    const paths = known.flatMap(({ path = [] }) => path);
    this.#all = new Set([...this.#titles, ...names, ...names.map(name => `#/${name}`), ...paths]);
  }

  findLists(text: string): readonly { readonly line: number; readonly named: string }[] {
    const code = text.replace(COMMENT, part => part.replace(/[^\n]/g, ' '));
    const lists = [
      ...[...code.matchAll(ARRAY)].map(({ index, 1: inner }) => ({
        index,
        named: this.#judge(splitEntries(inner!).map(toWord)),
      })),
      ...[...code.matchAll(UNION)].map(({ index, 0: union }) => ({
        index,
        named: this.#judge(union.split('|').map(toWord)),
      })),
      ...[...code.matchAll(TABLE)].map(({ index, 1: inner }) => ({ index, named: this.#judgeTable(inner!) })),
      ...[...code.matchAll(OBJECT)].map(({ index, 1: inner }) => ({ index, named: this.#judgeTitles(inner!) })),
      ...[...code.matchAll(DECLARATION)].map(({ index, 0: all }) => ({ index, named: this.#judgeCompared(all) })),
    ];
    const byLine = new Map(
      lists
        .filter(({ named }) => named.length > 0)
        .map(({ index, named }) => [code.slice(0, index).split('\n').length, named.join(', ')] as const),
    );
    return [...byLine].sort(([a], [b]) => a - b).map(([line, named]) => ({ line, named }));
  }

  /** The kinds among the entries of a list, when they are what the list is about. */
  #judge(entries: readonly string[]): readonly string[] {
    const named = [...new Set(entries.filter(each => this.#all.has(each)))];
    return named.length > 1 && named.length * 2 > entries.length ? named : [];
  }

  /** The same of a table of a module, by its keys or by its values. */
  #judgeTable(inner: string): readonly string[] {
    const rows = [...inner.matchAll(/^ {2}(?:'([^']+)'|(\w+)): (?:'([^']+)')?/gm)];
    const named = this.#judge(rows.map(([, quoted, key]) => (quoted ?? key)!));
    return named.length > 0 ? named : this.#judge(rows.map(([, , , value]) => value ?? ''));
  }

  #judgeTitles(inner: string): readonly string[] {
    const keys = [...inner.replace(/\{[^{}]*\}/g, '').matchAll(/(?:^|[{,])\s*(\w+):/g)].map(([, key]) => key!);
    const named = keys.filter(each => this.#titles.has(each));
    return named.length > 1 ? named : [];
  }

  #judgeCompared(declaration: string): readonly string[] {
    const compared = new Map<string, string[]>();
    for (const [, operand, text, keyword, label] of declaration.matchAll(COMPARED)) {
      const subject = (operand ?? keyword)!;
      compared.set(subject, [...(compared.get(subject) ?? []), (text ?? label)!]);
    }
    return [...compared.values()].flatMap(words => this.#judge([...new Set(words)]));
  }
}

function splitEntries(inner: string): readonly string[] {
  return inner.split(',').filter(entry => entry.trim() !== '');
}

/** What an entry of a list names: a text, or the object that a property is read of. */
function toWord(entry: string): string {
  return /^\s*(?:'([^']*)'|(\w+)\.\w+)\s*$/.exec(entry)?.slice(1).find(Boolean) ?? '';
}
