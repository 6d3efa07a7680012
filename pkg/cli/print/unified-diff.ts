import type { Paint } from '../../terminal/index.js';

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

const CONTEXT = 3;

/** The difference between two texts in the unified format; empty when there is none. */
export function formatUnifiedDiff(before: string, after: string, ink: Paint): string {
  const lines = compareLines(splitLines(before), splitLines(after));
  const changed = lines.flatMap(({ mark }, at) => (mark === ' ' ? [] : [at]));
  if (changed.length === 0) return '';
  return findHunks(changed, lines.length)
    .map(([from, to]) => formatHunk(lines, from, to, ink))
    .join('');
}

function splitLines(text: string): readonly string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** Both texts as one list of marked lines, by their longest common subsequence. */
function compareLines(before: readonly string[], after: readonly string[]): readonly Line[] {
  const shared = countShared(before, after);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ mark: ' ', text: before[i]! });
      i++;
      j++;
    } else if (j >= after.length || (i < before.length && shared[i + 1]![j]! >= shared[i]![j + 1]!)) {
      lines.push({ mark: '-', text: before[i++]! });
    } else lines.push({ mark: '+', text: after[j++]! });
  }
  return lines;
}

/** The length of the longest common subsequence of both texts, from each pair of lines on. */
function countShared(before: readonly string[], after: readonly string[]): readonly Uint32Array[] {
  const table = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const [here, below] = [table[i]!, table[i + 1]!];
      here[j] = before[i] === after[j] ? below[j + 1]! + 1 : Math.max(below[j]!, here[j + 1]!);
    }
  }
  return table;
}

/** Ranges of changed lines with their context; ranges that touch are merged. */
function findHunks(changed: readonly number[], length: number): readonly (readonly [number, number])[] {
  const hunks: [number, number][] = [];
  for (const at of changed) {
    const [from, to] = [Math.max(0, at - CONTEXT), Math.min(length, at + CONTEXT + 1)];
    const last = hunks.at(-1);
    if (last && from <= last[1]) last[1] = to;
    else hunks.push([from, to]);
  }
  return hunks;
}

function formatHunk(lines: readonly Line[], from: number, to: number, ink: Paint): string {
  const count = (part: readonly Line[], without: Line['mark']) => part.filter(({ mark }) => mark !== without).length;
  const [earlier, within] = [lines.slice(0, from), lines.slice(from, to)];
  const range = (mark: '-' | '+', without: '+' | '-') => {
    const size = count(within, without);
    return `${mark}${count(earlier, without) + (size === 0 ? 0 : 1)},${size}`;
  };
  const head = ink.cyan(`@@ ${range('-', '+')} ${range('+', '-')} @@`);
  return `${[head, ...within.map(line => paintLine(line, ink))].join('\n')}\n`;
}

function paintLine({ mark, text }: Line, ink: Paint): string {
  const line = `${mark}${text}`;
  if (mark === '+') return ink.green(line);
  return mark === '-' ? ink.red(line) : line;
}
