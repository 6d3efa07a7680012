import type { Paint } from '../../terminal/index.js';

/** Control characters of both sets (C0 and C1), line and paragraph separators, and marks that turn the order of letters. */
const CONTROLS = '\\p{Cc}\\p{Zl}\\p{Zp}\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069';
const CONTROL_RUNS = new RegExp(`[${CONTROLS}]+`, 'gu');
const CONTROL_RUNS_IN_LOGS = new RegExp(`(?!\\t)[${CONTROLS}]+?`, 'gu');
/** Those that neither JSON nor YAML escape by themselves; C0 they do. */
const CONTROLS_IN_TEXT = new RegExp(`(?![\\x00-\\x1f])[${CONTROLS}]`, 'gu');

/** Replaces control characters: what tenants, nodes and containers wrote must not control the terminal, nor add lines. */
export function stripControls(text: string): string {
  return text.replace(CONTROL_RUNS, ' ');
}

/** Escape sequences other than colours, and every other control character but tabs and line breaks. */
const UNPRINTABLE = new RegExp(`\\u001b(?!\\[[\\d;]{0,16}m)|(?![\\n\\t\\u001b])[${CONTROLS}]`, 'gu');

/** The last barrier: whatever a command prints, nothing but colours and lines reaches the terminal. */
export function stripUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, ' ');
}

/** The same for a line of a log, whose tabs are kept. */
export function stripLogControls(line: string): string {
  return line.replace(CONTROL_RUNS_IN_LOGS, ' ');
}

/** Output formats. `table` and `wide` are for people; the others are for programs. */
export const outputFormats = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type OutputFormat = (typeof outputFormats)[number];

/** A whole document, for programs. */
export async function formatDocument(value: unknown, format: 'json' | 'yaml'): Promise<string> {
  const json = `${JSON.stringify(value, null, 2)}\n`;
  if (format === 'json') return json.replace(CONTROLS_IN_TEXT, escapeCharacter);
  const { stringify } = await import('yaml');
  // Only what stands in quotation marks can be escaped.
  const isHostile = /\\u00[01]|\\[bf]/.test(json) || json.search(CONTROLS_IN_TEXT) >= 0;
  if (!isHostile) return stringify(value, { lineWidth: 0 });
  const quoted = stringify(value, { lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'QUOTE_DOUBLE' });
  return quoted.replace(CONTROLS_IN_TEXT, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const good = new Set([
  'done',
  'not needed',
  'Running',
  'Scheduled',
  'Stopped',
  'ready',
  'healthy',
  'running',
  'True',
  'info',
]);
const bad = new Set([
  'Failed',
  'Degraded',
  'Unschedulable',
  'failed',
  'unready',
  'unhealthy',
  'exited',
  'False',
  'warning',
]);

/** The colour for a state: green for good, red for bad, yellow for all others. */
export function choosePaint(ink: Paint, word: string): (text: string) => string {
  if (good.has(word)) return ink.green;
  return bad.has(word) ? ink.red : ink.yellow;
}

/** A state in its colour. */
export function paintState(ink: Paint, word: string): string {
  return choosePaint(ink, word)(stripControls(word));
}
