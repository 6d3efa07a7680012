import { CODE_TITLE } from '../checks/conformance.js';
import { sentences } from './index.js';
import type { Difference, Sentence, TestReference } from './sentence.js';

/** `docs/conformance.md`: every sentence of the specification with the tests that would fail if it were false. */
export function renderConformance(): string {
  const unbuilt = sentences.filter(({ notBuilt }) => notBuilt);
  const different = sentences.filter(({ differs }) => differs);
  const sections = [...new Set(sentences.map(({ section }) => section))];
  return [
    '# Conformance',
    '',
    'Generated from `hack/conformance` by `make generate`. Each row is a sentence of the specification that can be false, with the',
    'tests that would fail if it were. `make verify` fails when a test that is named here does not exist, and when a sentence has none',
    'although its feature is built.',
    '',
    `${sentences.length} sentences: ${sentences.length - unbuilt.length - different.length} with tests, ${unbuilt.length} of features that are not built yet,`,
    `${different.length} from which Mooring differs by decision.`,
    '',
    ...sections.flatMap(section => [
      `## ${section}`,
      '',
      '| Sentence | Test |',
      '|---|---|',
      ...sentences.filter(sentence => sentence.section === section).map(renderSentence),
      '',
    ]),
  ].join('\n');
}

function renderSentence({ text, tests, notBuilt, differs, rejection }: Sentence): string {
  const named = tests.map(test => renderTest(test, rejection?.code)).join('<br>');
  const other = differs ? `${renderDifference(differs)}<br>` : '';
  return `| ${escapeCell(text)} | ${notBuilt ? `not built yet: ${notBuilt}` : `${other}${named}`} |`;
}

function renderDifference({ adr, because }: Difference): string {
  return `differs: [ADR ${Number.parseInt(adr, 10)}](adr/${adr}), ${escapeCell(because)}`;
}

function renderTest({ file, title, row }: TestReference, code = ''): string {
  const shown = title === CODE_TITLE ? `${code}: …` : title;
  const which = row === undefined ? '' : ` — \`${escapeCell(row)}\``;
  return `\`${file}\`: ${escapeCell(shown)}${which}`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}
