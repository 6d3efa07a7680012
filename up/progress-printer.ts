import { type Paint, paint, type Terminal } from '../pkg/cli/index.js';
import type { Step } from './plan.js';

const TITLE_WIDTH = 36;

/** Shows steps as they are worked on. On a terminal, the last line says what is being waited for. */
export class ProgressPrinter {
  readonly #terminal: Terminal;
  readonly #ink: Paint;
  readonly #told = new Map<string, string>();
  #transient = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#ink = paint(terminal.colours);
  }

  /** Prints what is new. Steps that were done before anybody looked are printed once too. */
  show(steps: readonly Step[]): void {
    const news = steps.filter(step => isOver(step) && this.#told.get(step.name) !== print(step));
    if (news.length > 0) this.clear();
    for (const step of news) {
      this.#told.set(step.name, print(step));
      this.#terminal.out(this.#line(step));
    }
    this.#wait(steps.filter(({ state }) => state === 'working').map(({ title }) => title));
  }

  /** Takes the transient line away. */
  clear(): void {
    if (this.#transient !== '') this.#terminal.out('\r\u001b[K');
    this.#transient = '';
  }

  #line({ title, state, ms, detail }: Step): string {
    const mark = state === 'done' ? this.#ink.green('ok  ') : this.#ink.red('FAIL');
    const took = ms === undefined ? 'ready' : `${(ms / 1000).toFixed(1)} s`;
    return `  ${mark} ${title.padEnd(TITLE_WIDTH)} ${took.padStart(7)}  ${this.#ink.dim(detail ?? '')}`
      .trimEnd()
      .concat('\n');
  }

  #wait(titles: readonly string[]): void {
    if (this.#terminal.width === undefined) return;
    const text = titles.length === 0 ? '' : `  …    ${titles.join(', ')}`.slice(0, this.#terminal.width - 1);
    if (text === this.#transient) return;
    this.clear();
    this.#terminal.out(this.#ink.dim(text));
    this.#transient = text;
  }
}

function isOver({ state }: Step): boolean {
  return state === 'done' || state === 'failed';
}

function print({ state, detail }: Step): string {
  return `${state} ${detail ?? ''}`;
}
