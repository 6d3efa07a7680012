const SECOND = 1000;
const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
];

/** How long ago a moment is: `12s`, `4m`, `3h`, `2d`; `now` for what is about to be. */
export function formatAgo(at: string, now: number): string {
  const seconds = Math.floor((now - Date.parse(at)) / SECOND);
  if (Number.isNaN(seconds)) return '-';
  if (seconds < 0) return `in ${formatSeconds(-seconds)}`;
  return seconds === 0 ? 'now' : `${formatSeconds(seconds)} ago`;
}

function formatSeconds(seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ['s', 1];
  return `${Math.floor(seconds / size)}${unit}`;
}

/** A moment in full, in the reader's own time and in UTC. */
export function formatMoment(at: string): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return at;
  return `${time.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })} (${time.toISOString()})`;
}

/** A piece of a text: words, or a command to type. */
export interface TextPiece {
  readonly text: string;
  readonly isCommand: boolean;
}

/** A remedy with its commands apart: they stand in quotation marks. */
export function splitCommands(text: string): readonly TextPiece[] {
  return text
    .split(/"(moor [^"\n]*)"/)
    .map((piece, at) => ({ text: piece, isCommand: at % 2 === 1 }))
    .filter(({ text: piece }) => piece !== '');
}

/** Control characters and marks that turn the direction of text could make a name look like another: they are shown as such. */
export function showControls(text: string): string {
  return text.replace(/(?![\t\n])\p{Cc}|[\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, '\ufffd');
}
