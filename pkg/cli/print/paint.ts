import picocolors from 'picocolors';

type Ink = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold';

/** Colours a text, or leaves it as it is. */
export type Paint = Readonly<Record<Ink, (text: string) => string>>;

export function paint(colours: boolean): Paint {
  const { red, green, yellow, cyan, dim, bold } = picocolors.createColors(colours);
  return { red, green, yellow, cyan, dim, bold };
}

const good = new Set(['Running', 'Stopped', 'ready', 'healthy', 'running', 'True', 'info']);
const bad = new Set(['Failed', 'Degraded', 'Unschedulable', 'failed', 'unhealthy', 'exited', 'False', 'warning']);

/** The colour for a word of state, by what it means. */
export function inkFor(ink: Paint, word: string): (text: string) => string {
  if (good.has(word)) return ink.green;
  return bad.has(word) ? ink.red : ink.yellow;
}

/** A word of state in its colour. */
export function paintState(ink: Paint, word: string): string {
  return inkFor(ink, word)(word);
}
