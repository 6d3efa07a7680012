import { type Paint, paint, type Terminal } from '../../pkg/terminal/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import type { Home, UpPlan, PlanProgress, PlanStep } from '../home/home.js';
import type { UpPart } from '../parts/part.js';

/** How far a plan is, recorded on disk for the command that asked for it. */
export class ProgressRecorder {
  readonly #home: Home;
  readonly #clock: Clock;
  readonly #since = new Map<string, number>();
  #plan: UpPlan;
  #steps: PlanStep[] = [];
  #outcome: PlanProgress['outcome'] = 'working';
  #saved = '';

  constructor(home: Home, clock: Clock, plan: UpPlan) {
    this.#home = home;
    this.#clock = clock;
    this.#plan = plan;
  }

  /** Begins a pass over these parts. A plan that is carried out stays `up` while its parts do. */
  begin(plan: UpPlan, parts: readonly UpPart[]): void {
    if (plan.id !== this.#plan.id) {
      this.#outcome = 'working';
      this.#steps = [];
      this.#since.clear();
    }
    this.#plan = plan;
    this.#steps = parts.map(({ name, title }) => this.#find(name) ?? { name, title, state: 'waiting' });
    this.#save();
  }

  working(part: UpPart): void {
    this.#since.set(part.name, this.#clock.monotonic());
    this.#set({ name: part.name, title: part.title, state: 'working' });
  }

  done(part: UpPart, detail: string): void {
    if (this.#find(part.name)?.state === 'done') return;
    this.#set({ name: part.name, title: part.title, state: 'done', detail, ...this.#took(part) });
  }

  failed(part: UpPart, reason: string): void {
    const { name, title, remedy } = part;
    this.#set({ name, title, state: 'failed', detail: reason, remedy, ...this.#took(part) });
  }

  finish(outcome: 'up' | 'failed'): void {
    if (this.#outcome === outcome) return;
    this.#outcome = outcome;
    this.#save();
  }

  #took({ name }: UpPart): { readonly ms?: number } {
    const since = this.#since.get(name);
    return since === undefined ? {} : { ms: Math.round(this.#clock.monotonic() - since) };
  }

  #find(name: string): PlanStep | undefined {
    return this.#steps.find(step => step.name === name);
  }

  #set(step: PlanStep): void {
    this.#steps = this.#steps.map(known => (known.name === step.name ? step : known));
    this.#save();
  }

  /** Nothing is written while nothing changes. */
  #save(): void {
    const progress: PlanProgress = { plan: this.#plan.id, outcome: this.#outcome, steps: this.#steps };
    const text = JSON.stringify(progress);
    if (text === this.#saved) return;
    this.#home.progress.write(progress);
    this.#saved = text;
  }
}

const TITLE_WIDTH = 36;

/** Shows steps as they are worked on. On a terminal, the last line names what is in progress. */
export class ProgressPrinter {
  readonly #terminal: Terminal;
  readonly #ink: Paint;
  readonly #printed = new Map<string, string>();
  #transient = '';

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#ink = paint(terminal.colours);
  }

  /** Prints what is new. Steps that were done before the first call are printed once too. */
  show(steps: readonly PlanStep[]): void {
    const news = steps.filter(step => isOver(step) && this.#printed.get(step.name) !== print(step));
    if (news.length > 0) this.clear();
    for (const step of news) {
      this.#printed.set(step.name, print(step));
      this.#terminal.out(this.#line(step));
    }
    this.#wait(steps.filter(({ state }) => state === 'working').map(({ title }) => title));
  }

  /** Removes the transient line. */
  clear(): void {
    if (this.#transient !== '') this.#terminal.out('\r\u001b[K');
    this.#transient = '';
  }

  #line({ title, state, ms, detail }: PlanStep): string {
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

function isOver({ state }: PlanStep): boolean {
  return state === 'done' || state === 'failed';
}

function print({ state, detail }: PlanStep): string {
  return `${state} ${detail ?? ''}`;
}
