import type { Sentence, TestReference } from '../conformance/sentence.js';
import type { Source } from './source-files.js';
import { specifiedCodes } from './specified-codes.js';

/** A table of codes that are earned over HTTP: its cases are titled `<code>: <case>`. */
export const CODE_TITLE = '${code}: ${name}';

/**
 * What is wrong with the table of sentences: a sentence that nothing would catch, one that is said twice, a test that is
 * not there, a field that no case of a code earns, a code without a row, a feature that has a test although it is said
 * not to be built, and a difference whose decision is not among the files of `docs/adr`.
 */
export function judgeConformance(
  sentences: readonly Sentence[],
  sources: readonly Source[],
  decisions: readonly string[],
): string[] {
  const files = new Map(sources.map(({ path, text }) => [path, text]));
  const said = new Set<string>();
  return [
    ...sentences.flatMap(sentence => {
      const { section, text, tests, notBuilt, differs, rejection } = sentence;
      const at = `${section} "${text}"`;
      const isRepeated = said.has(at);
      said.add(at);
      return [
        ...(isRepeated ? [`${at}: stands there twice`] : []),
        ...(tests.length === 0 && !notBuilt ? [`${at}: no test, and not said to be unbuilt`] : []),
        ...(differs && !decisions.includes(differs.adr) ? [`${at}: there is no docs/adr/${differs.adr}`] : []),
        ...(tests.length > 0 && notBuilt ? [`${at}: said not to be built (${notBuilt}), yet a test is named`] : []),
        ...(notBuilt ? findTestOf(text, sources).map(path => `${at}: not built, yet a test in ${path} says it`) : []),
        ...tests.flatMap(test => judgeReference(test, files).map(fault => `${at}: ${fault}`)),
        ...(rejection ? judgeField(rejection, tests, files).map(fault => `${at}: ${fault}`) : []),
      ];
    }),
    ...findMissingCodes(sentences),
  ];
}

function judgeReference({ file, title, row }: TestReference, files: ReadonlyMap<string, string>): string[] {
  const text = files.get(file);
  if (text === undefined || !file.endsWith('.test.ts')) return [`there is no test file ${file}`];
  if (row !== undefined && !flatten(text).includes(flatten(row))) return [`${file} has no case ${row}`];
  return isTitle(title, text) ? [] : [`${file} has no test "${title}"`];
}

/** Titles stand in the call, or in a table: as `name`, `title` or the first entry of a row. */
function isTitle(title: string, text: string): boolean {
  if (title === CODE_TITLE) return text.includes('describeCodes(');
  const quoted = [`'${title}'`, `"${title}"`, `\`${title}\``, `'${title.replaceAll("'", "\\'")}'`];
  return quoted.some(literal => {
    for (let at = text.indexOf(literal); at !== -1; at = text.indexOf(literal, at + 1)) {
      if (/(?:\b(?:it|itDeep|describe)\(|\bname:|\btitle:|\[)\s*$/.test(text.slice(Math.max(0, at - 80), at)))
        return true;
    }
    return false;
  });
}

function flatten(text: string): string {
  return text.replace(/,?\s+/g, ' ');
}

function findTestOf(sentence: string, sources: readonly Source[]): string[] {
  return sources
    .filter(({ path, text }) => path.endsWith('.test.ts') && isTitle(sentence, text))
    .map(({ path }) => path);
}

/** The field of the specification must be among those that the cases of the code name. */
function judgeField(
  { code, field }: { readonly code: string; readonly field: string },
  tests: readonly TestReference[],
  files: ReadonlyMap<string, string>,
): string[] {
  const tables = tests.filter(({ title }) => title === CODE_TITLE).map(({ file }) => files.get(file) ?? '');
  if (tables.length === 0) return [];
  const cases = tables.flatMap(text => listCasesOf(code, text)).join('\n');
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
  const there = new Set(sentences.map(({ section, rejection }) => `${section} ${rejection?.code}`));
  return Object.entries(specifiedCodes).flatMap(([section, codes]) =>
    codes.filter(code => !there.has(`${section} ${code}`)).map(code => `${section} ${code}: has no row`),
  );
}
