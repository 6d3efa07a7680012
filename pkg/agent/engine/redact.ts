import { OUTPUT_MAX } from '../../../crds/report/index.js';
import { GAP, isClearable, listForms, removeGaps, scanText } from './secret-forms.js';

/** At a place where the text was cut, so much of a value counts as a part of it. */
const SHORTEST_PART = 3;
const LINES_MAX = 20;
const MARK = '[redacted]';

/** Output of a container without the values of its secrets; `isWithheld` when it cannot be cleared of them. */
export interface RedactedOutput {
  readonly output?: string;
  readonly isWithheld?: true;
}

/** One line of output, without its line break. */
export interface OutputLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** Which ends of a text may have been cut off, so that a part of a value may stand there. */
export interface OutputCuts {
  readonly start?: boolean;
  readonly end?: boolean;
}

/**
 * The last lines of a container's output, without the values of its secrets.
 *
 * A value is found as it is, line by line, and in the encodings that programs print: base64, hexadecimal, of URLs and of JSON;
 * also where it is wrapped, and where lines of the other stream stand between. Lines at an end where the text was cut are left
 * out, because a part of a value may stand there. `secrets` undefined: it is unknown which variables hold secrets.
 */
export function redactOutput(
  output: string | readonly OutputLine[],
  secrets: readonly string[] | undefined,
  cuts: OutputCuts = {},
): RedactedOutput {
  const lines = typeof output === 'string' ? splitLines(output) : output;
  if (lines.every(({ text }) => text.trim() === '')) return {};
  if (!secrets || !secrets.every(isClearable)) return { isWithheld: true };
  const cleared = clearStreams(lines, listAllForms(secrets), cuts);
  const whole = cleared.slice(cuts.start ? 1 : 0, cuts.end ? -1 : cleared.length);
  const shown = whole.map(line => line.replace(/(?!\t)\p{Cc}/gu, ' ').trimEnd()).filter(line => line !== '');
  if (shown.length === 0) return { isWithheld: true };
  return { output: keepEnd(shown.slice(-LINES_MAX).join('\n')) };
}

/** Whether a text quotes one of the values, as it is or encoded. */
export function quotesSecret(text: string, secrets: readonly string[]): boolean {
  if (secrets.some(secret => secret !== '' && text.includes(secret))) return true;
  return findRanges(text, listAllForms(secrets), {}).length > 0;
}

function splitLines(text: string): readonly OutputLine[] {
  return text.split(/\r\n?|\n/).map(line => ({ stream: 'stdout', text: line }));
}

function keepEnd(text: string): string {
  if (text.length <= OUTPUT_MAX) return text;
  return `…${text.slice(1 - OUTPUT_MAX).replace(/^[\uDC00-\uDFFF]/, '')}`; // half of a pair
}

function listAllForms(secrets: readonly string[]): ReadonlySet<string> {
  return new Set(secrets.flatMap(listForms).map(removeGaps));
}

/** The lines with the values replaced in each stream for itself. */
function clearStreams(lines: readonly OutputLine[], forms: ReadonlySet<string>, cuts: OutputCuts): readonly string[] {
  const cleared = lines.map(({ text }) => text);
  for (const stream of new Set(lines.map(line => line.stream))) {
    const own = [...lines.keys()].filter(at => lines[at]!.stream === stream);
    const text = own.map(at => lines[at]!.text).join('\n');
    const parts = replaceRanges(text, findRanges(text, forms, cuts)).split('\n');
    for (const [place, at] of own.entries()) cleared[at] = parts[place] ?? '';
  }
  return cleared;
}

type TextRange = readonly [start: number, end: number];

/** Every place where one of the forms stands, in order; overlapping places are merged. */
function findRanges(text: string, forms: ReadonlySet<string>, cuts: OutputCuts): readonly TextRange[] {
  const offsets = [...Array(text.length).keys()].filter(at => !GAP.test(text[at]!));
  const solid = removeGaps(text);
  const found = [...forms].flatMap(form => findForm(solid, form, cuts));
  const merged: TextRange[] = [];
  for (const [start, end] of found.sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) merged[merged.length - 1] = [last[0], Math.max(last[1], end)];
    else merged.push([start, end]);
  }
  return merged.map(([start, end]) => [offsets[start]!, offsets[end - 1]! + 1]);
}

/** Where a form stands, and where a part of it stands at an end where the text was cut. */
function findForm(text: string, form: string, { start, end }: OutputCuts): readonly TextRange[] {
  const size = form.length;
  const found = text.includes(form) ? scanText(text, form).ends.map((at): TextRange => [at - size, at]) : [];
  const atStart = start ? scanText(form, text.slice(0, size)).rest : 0;
  const atEnd = end ? scanText(text.slice(-size), form).rest : 0;
  if (atStart >= SHORTEST_PART) found.push([0, atStart]);
  if (atEnd >= SHORTEST_PART) found.push([text.length - atEnd, text.length]);
  return found;
}

/** Keeps the line breaks inside a range. */
function replaceRanges(text: string, ranges: readonly TextRange[]): string {
  let result = '';
  let from = 0;
  for (const [start, end] of ranges) {
    const marks = text.slice(start, end).split('\n').fill(MARK).join('\n');
    result += text.slice(from, start) + marks;
    from = end;
  }
  return result + text.slice(from);
}
