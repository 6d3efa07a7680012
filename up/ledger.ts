import type { Clock } from '../pkg/clock/index.js';
import type { Home } from './home.js';
import type { Part } from './part.js';
import type { Plan, Progress, Step } from './plan.js';

/** How far a plan is, kept on disk for whoever asked for it. */
export class Ledger {
  readonly #home: Home;
  readonly #clock: Clock;
  readonly #since = new Map<string, number>();
  #plan: Plan;
  #steps: Step[] = [];
  #outcome: Progress['outcome'] = 'working';
  #saved = '';

  constructor(home: Home, clock: Clock, plan: Plan) {
    this.#home = home;
    this.#clock = clock;
    this.#plan = plan;
  }

  /** Begins a pass over these parts. A plan that is carried out stays so while the parts stay up. */
  begin(plan: Plan, parts: readonly Part[]): void {
    if (plan.id !== this.#plan.id) {
      this.#outcome = 'working';
      this.#steps = [];
      this.#since.clear();
    }
    this.#plan = plan;
    this.#steps = parts.map(({ name, title }) => this.#find(name) ?? { name, title, state: 'waiting' });
    this.#save();
  }

  working(part: Part): void {
    this.#since.set(part.name, this.#clock.monotonic());
    this.#set({ name: part.name, title: part.title, state: 'working' });
  }

  done(part: Part, detail: string): void {
    if (this.#find(part.name)?.state === 'done') return;
    this.#set({ name: part.name, title: part.title, state: 'done', detail, ...this.#took(part) });
  }

  failed(part: Part, reason: string): void {
    const { name, title, remedy } = part;
    this.#set({ name, title, state: 'failed', detail: reason, remedy, ...this.#took(part) });
  }

  finish(outcome: 'up' | 'failed'): void {
    if (this.#outcome === outcome) return;
    this.#outcome = outcome;
    this.#save();
  }

  #took({ name }: Part): { readonly ms?: number } {
    const since = this.#since.get(name);
    return since === undefined ? {} : { ms: Math.round(this.#clock.monotonic() - since) };
  }

  #find(name: string): Step | undefined {
    return this.#steps.find(step => step.name === name);
  }

  #set(step: Step): void {
    this.#steps = this.#steps.map(known => (known.name === step.name ? step : known));
    this.#save();
  }

  /** Nothing is written while nothing changes. */
  #save(): void {
    const progress: Progress = { plan: this.#plan.id, outcome: this.#outcome, steps: this.#steps };
    const text = JSON.stringify(progress);
    if (text === this.#saved) return;
    this.#home.progress.write(progress);
    this.#saved = text;
  }
}
