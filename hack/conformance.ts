/**
 * The sentences of the specification, and the tests that would fail if they were false. `docs/conformance.md` holds the
 * sentences, each with a number in its section; a test says at the start of its title which of them it holds, as in
 * `it('[2.4.7 3.2] …')`. A row of a table of cases says it in its name, or in a comment beside it when it has no name.
 */
import type { Source } from './checks/source-files.js';
import { specifiedCodes } from './checks/specified-codes.js';

interface Sentence {
  readonly id: string;
  readonly text: string;
}

/** A test that names sentences. */
interface Tagged {
  readonly ids: readonly string[];
  readonly file: string;
  /** What the page shows of it, or undefined where a tag stands in no title. */
  readonly title: string | undefined;
}

const ROW = /^\| (\d+(?:\.\d+)+) \| ((?:\\\||[^|\n])*) \|.*$/gm;
const TAG = /(['"`]|\/\/ )\[(\d+(?:\.\d+)+(?: \d+(?:\.\d+)+)*)\](?: |$)/gm;
/** What stands before a title: a call, the name of a case, or the bracket of a row whose first entry is its name. */
const BEFORE_TITLE = /(?:\b(?:it|itDeep|describe|describeCodes)\(|\bname:|\btitle:|\[)\s*$/;
/** A sentence about a code: `name_required (name): name missing`. */
const OF_CODE = /^([a-z]+(?:_[a-z]+)+) \((.+?)\): /;

/** `docs/conformance.md` with the tests of each sentence in its last column. */
export function renderConformance(page: string, sources: readonly Source[]): string {
  const tagged = listTagged(sources);
  return page.replace(ROW, (_, id: string, text: string) => {
    const tests = tagged.filter(test => holds(test, id));
    return `| ${id} | ${text} | ${tests.map(renderTest).join('<br>')} |`;
  });
}

function holds({ ids, title }: Tagged, id: string): boolean {
  return title !== undefined && ids.includes(id);
}

function renderTest({ file, title = '' }: Tagged): string {
  return `[\`${file}\`](../${file}): ${title.replaceAll('|', '\\|').replaceAll('<', '&lt;')}`;
}

/**
 * What is wrong with sentences and tags: a sentence without a test, or that stands there twice, a test of what is not
 * built, a tag that is no sentence's number or stands in no title, a field that no case of a code earns, and a code of
 * the specification without a sentence.
 */
export function judgeConformance(page: string, sources: readonly Source[]): string[] {
  const sentences = Array.from(page.matchAll(ROW), ([, id = '', text = '']) => ({ id, text }));
  const tagged = listTagged(sources);
  const ids = sentences.map(({ id }) => id);
  return [
    ...ids.filter((id, position) => ids.indexOf(id) !== position).map(id => `${id}: stands there twice`),
    ...tagged.flatMap(test => judgeTag(test, ids)),
    ...sentences.flatMap(sentence => {
      const files = tagged.filter(test => holds(test, sentence.id)).map(({ file }) => file);
      return judgeSentence(
        sentence,
        sources.filter(({ path }) => files.includes(path)),
      );
    }),
    ...findMissingCodes(sentences),
  ];
}

function judgeTag({ ids, file, title }: Tagged, known: readonly string[]): string[] {
  if (title === undefined)
    return [`${file}: [${ids.join(' ')}] does not begin the title of a test, nor stands by a case`];
  return ids
    .filter(id => !known.includes(id))
    .map(id => `${file}: [${id}] is the number of no sentence in docs/conformance.md`);
}

function judgeSentence({ id, text }: Sentence, tests: readonly Source[]): string[] {
  const isUnbuilt = text.includes('not built yet');
  if (isUnbuilt && tests.length > 0) return [`${id} "${text}": not built, yet ${tests[0]?.path} has a test of it`];
  if (tests.length === 0) return isUnbuilt ? [] : [`${id} "${text}": no test has [${id}] in its title`];
  const [, code, field] = OF_CODE.exec(text.replaceAll('&lt;', '<')) ?? [];
  return code && field ? judgeField(code, field, tests).map(fault => `${id}: ${fault}`) : [];
}

/** The fields of the specification must be among those that the cases of the code name, where a table has them. */
function judgeField(code: string, field: string, tests: readonly Source[]): string[] {
  const tables = tests.filter(({ text }) => text.includes('describeCodes('));
  if (tables.length === 0) return [];
  const cases = tables.flatMap(({ text }) => listCasesOf(code, text)).join('\n');
  if (cases === '') return [`no table earns ${code}`];
  return field
    .split(', ')
    .filter(each => each !== 'computed' && !toFieldPattern(each).test(cases))
    .map(each => `no case earns ${code} at ${each}`);
}

/** The part of a file that holds the cases of a code, with constants that stand for a text written out. */
function listCasesOf(code: string, text: string): string[] {
  const constants = [...text.matchAll(/^const (\w+) = '([^']*)';$/gm)];
  return text
    .split(/\n\s+code: /)
    .filter(part => part.startsWith(`'${code}'`))
    .map(part =>
      constants.reduce((all, [, name, value]) => all.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), `'${value}'`), part),
    );
}

function toFieldPattern(field: string): RegExp {
  const escaped = field.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`['\`]${escaped.replaceAll('<i>', '\\d+').replace(/<\w+>/g, '\\w+')}['\`]`);
}

function findMissingCodes(sentences: readonly Sentence[]): string[] {
  const there = new Set(sentences.map(({ id, text }) => `${id.replace(/\.\d+$/, '')} ${OF_CODE.exec(text)?.[1]}`));
  return Object.entries(specifiedCodes).flatMap(([section, codes]) =>
    codes.filter(code => !there.has(`${section} ${code}`)).map(code => `${section} ${code}: has no sentence`),
  );
}

function listTagged(sources: readonly Source[]): Tagged[] {
  return sources
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap(({ path: file, text }) =>
      Array.from(text.matchAll(TAG), ({ 0: tag, 1: opening = '', 2: ids = '', index }) => ({
        file,
        ids: ids.split(' '),
        title: opening === '// ' ? findCase(text, index) : findTitle(text, index, index + tag.length),
      })),
    );
}

/** The text of a title whose tag is there; of a case of a code also the code. */
function findTitle(text: string, from: number, to: number): string | undefined {
  const before = text.slice(0, from);
  if (!BEFORE_TITLE.test(before.slice(-80))) return undefined;
  const title = new RegExp(`^(?:\\\\.|[^\\\\${text[from]}])*`).exec(text.slice(to))?.[0] ?? '';
  const code =
    before.trimEnd().endsWith('[') && text.includes('describeCodes(') && /.*\scode: '(\w+)'/s.exec(before)?.[1];
  return `${code ? `${code}: ` : ''}${title.replaceAll(/\\(.)/g, '$1')}`;
}

/** The source of a case beside which a comment stands: what is before it in its line, or else the line after it. */
function findCase(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at) + 1;
  const [, next = ''] = text.slice(at).split('\n');
  const source = text.slice(start, at).trim() || next.trim();
  return `\`${source.replace(/,$/, '').replaceAll('`', "'")}\``;
}
