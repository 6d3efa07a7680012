import picocolors from 'picocolors';

/** Replaces control characters: output of a server or a container must not control the terminal. */
export function stripControls(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}

/** Output formats. `table` and `wide` are for people; the others are for programs. */
export const outputFormats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** A whole document, for programs. */
export async function formatDocument(value: unknown, format: 'json' | 'yaml'): Promise<string> {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`;
  const { stringify } = await import('yaml');
  return stringify(value, { lineWidth: 0 });
}

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const;

/** How long ago, in at most two units: `45s`, `3m20s`, `5h`, `12d`. */
export function formatAge(since: string | undefined, now: number): string {
  const at = since === undefined ? Number.NaN : Date.parse(since);
  return Number.isNaN(at) ? '-' : formatSpan(now - at);
}

/** A duration for people. The second unit is shown only while the first is below ten. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const largest = units.findIndex(([, size]) => seconds >= size);
  if (largest === -1) return '0s';

  const [name, size] = units[largest]!;
  const count = Math.floor(seconds / size);
  const next = units[largest + 1];
  const rest = next && count < 10 ? Math.floor((seconds % size) / next[1]) : 0;
  return rest > 0 ? `${count}${name}${rest}${next![0]}` : `${count}${name}`;
}

/** Functions that colour a text, or return it unchanged. */
export type Paint = Readonly<Record<'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold', (text: string) => string>>;

export const paint: (colours: boolean) => Paint = picocolors.createColors;

const good = new Set(['Running', 'Stopped', 'ready', 'healthy', 'running', 'True', 'info']);
const bad = new Set(['Failed', 'Degraded', 'Unschedulable', 'failed', 'unhealthy', 'exited', 'False', 'warning']);

/** The colour for a state: green for good, red for bad, yellow for all others. */
export function choosePaint(ink: Paint, word: string): (text: string) => string {
  if (good.has(word)) return ink.green;
  return bad.has(word) ? ink.red : ink.yellow;
}

/** A state in its colour. */
export function paintState(ink: Paint, word: string): string {
  return choosePaint(ink, word)(word);
}
