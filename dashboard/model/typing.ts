/** A piece of a text that is replaced, and what is selected afterwards. */
export interface TextEdit {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
  readonly select: readonly [number, number];
}

/** A text and what is selected in it: where nothing is, both ends are the caret. */
export interface Selection {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const STEP = 2;

/** What Tab does: spaces up to the next step, or a step more for each selected line. */
export function indent({ text, start, end }: Selection): TextEdit {
  if (start !== end) return editLines({ text, start, end }, line => (line === '' ? line : ' '.repeat(STEP) + line));
  const column = start - findLineStart(text, start);
  const insert = ' '.repeat(STEP - (column % STEP));
  return { from: start, to: start, insert, select: [start + insert.length, start + insert.length] };
}

/** What Shift-Tab does: a step less for each selected line, or for the one with the caret. */
export function outdent(selection: Selection): TextEdit {
  const edit = editLines(selection, line => line.replace(new RegExp(`^ {1,${STEP}}`), ''));
  if (selection.start !== selection.end) return edit;
  const removed = edit.to - edit.from - edit.insert.length;
  const caret = Math.max(edit.from, selection.start - removed);
  return { ...edit, select: [caret, caret] };
}

/** What Enter does: the next line begins where this one does, and a step deeper behind the name of a map or a list. */
export function breakLine({ text, start, end }: Selection): TextEdit {
  const before = text.slice(findLineStart(text, start), start);
  const [lead = ''] = /^ *(?:- +)*/.exec(before) ?? [];
  const isOpening = /:\s*$/.test(before);
  const insert = `\n${' '.repeat(lead.length + (isOpening ? STEP : 0))}`;
  return { from: start, to: end, insert, select: [start + insert.length, start + insert.length] };
}

/** The smallest piece that makes one text the other: what an undo takes back, and where the caret is left. */
export function findEdit(before: string, after: string): TextEdit {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const end = after.length - tail;
  return { from: head, to: before.length - tail, insert: after.slice(head, end), select: [end, end] };
}

function editLines({ text, start, end }: Selection, change: (line: string) => string): TextEdit {
  const from = findLineStart(text, start);
  // A selection that ends before the first character of a line does not mean that line.
  const last = end > start && text[end - 1] === '\n' ? end - 1 : end;
  const next = text.indexOf('\n', last);
  const to = next === -1 ? text.length : next;
  const insert = text.slice(from, to).split('\n').map(change).join('\n');
  return { from, to, insert, select: [from, from + insert.length] };
}

function findLineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1;
}
