import { backoffMs, type Clock, sleep } from '../../pkg/clock/index.js';
import { asError } from '../../pkg/fault/index.js';
import type { Logger } from '../../pkg/log/index.js';
import { HeldSockets } from '../machine/held-sockets.js';
import type { Home, PartFacts, UpPlan } from '../home/home.js';
import { terminateProcess, identifyProcess, isAlive } from '../machine/os-process.js';
import { ProgressRecorder } from './progress.js';
import type { StartResult, TaskPart, PartLane, UpPart, PartEnv, ProcessPart, PartStages } from '../parts/part.js';

const LOOK_EVERY_MS = 500;
const RESTART_BACKOFF = { firstMs: 500, capMs: 30_000 };
/** A process that lived this long is not in a crash loop. */
const HEALTHY_AFTER_MS = 30_000;
/** How often a part that runs is maintained, and how soon again when that failed. In wall time, as certificates expire. */
const MAINTAIN_EVERY_MS = 86_400_000;
const MAINTAIN_AGAIN_MS = 600_000;

export interface SupervisorOptions {
  readonly home: Home;
  readonly clock: Clock;
  readonly log: Logger;
  readonly environment: PartEnv['environment'];
  /** Whether this is still the one supervisor of its home. Checked before each pass. */
  readonly isInCharge: () => boolean;
  /** The parts of a plan. */
  readonly planStages: (plan: UpPlan) => Promise<PartStages>;
}

/**
 * Keeps the parts of the all-in-one up.
 *
 * Each pass compares the plan with the running processes and starts what is missing. It takes over parts that an earlier
 * supervisor started: both are recorded on disk.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #backoff = new StartBackoff();
  readonly #chores = new Map<string, { readonly recipe: string; readonly result: StartResult }>();
  readonly #sockets = new HeldSockets();
  /** When each part is due to be maintained. */
  readonly #maintainAt = new Map<string, number>();
  #facts: PartFacts = {};
  #planId = '';

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Carries out the plan on disk, as it is at each pass, until aborted or until another supervisor has the claim. */
  async run(signal: AbortSignal): Promise<void> {
    const { home, clock, log, isInCharge } = this.#options;
    let lastFailure = '';
    let recorder: ProgressRecorder | undefined;
    while (!signal.aborted && isInCharge()) {
      try {
        const plan = home.plan.read();
        if (plan) {
          recorder ??= new ProgressRecorder(home, clock, plan);
          await this.#pass(plan, recorder, signal);
        }
        lastFailure = '';
      } catch (thrown) {
        // What is on disk cannot be read or written. The parts go on, and so does this, once it can be again.
        const error = asError(thrown);
        if (error.message !== lastFailure) log.error('a pass failed', { error });
        lastFailure = error.message;
      }
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  }

  async #pass(plan: UpPlan, recorder: ProgressRecorder, signal: AbortSignal): Promise<void> {
    const stages = await this.#options.planStages(plan);
    // Whoever asks again wants to know now what becomes of it.
    if (plan.id !== this.#planId) this.#backoff.clear();
    this.#planId = plan.id;
    const parts = stages.flat(2);
    recorder.begin(plan, parts);
    await this.#endUnwanted(parts);
    for (const lanes of stages) {
      const up = await Promise.all(lanes.map(lane => this.#bringUp(lane, recorder, signal)));
      if (signal.aborted) return;
      if (!up.every(Boolean)) return recorder.finish('failed');
    }
    recorder.finish('up');
  }

  async #bringUp(lane: PartLane, recorder: ProgressRecorder, signal: AbortSignal): Promise<boolean> {
    for (const part of lane) {
      if (signal.aborted) return false;
      const result = await this.#ensure(part, recorder);
      if (!result) return false;
      this.#facts = { ...this.#facts, ...result.facts };
      recorder.done(part, result.detail);
    }
    return true;
  }

  /** Ensures that one part is up. Undefined when it is not, and will not be before the next pass. */
  async #ensure(part: UpPart, recorder: ProgressRecorder): Promise<StartResult | undefined> {
    const { clock, log } = this.#options;
    const recipe = part.recipe(this.#facts);
    const running = part.kind === 'process' ? await this.#findRunning(part, recipe) : this.#findFinished(part, recipe);
    if (running) {
      if (part.kind === 'process') this.#maintain(part);
      return running;
    }
    if (this.#backoff.waitMs(part.name, clock.monotonic()) > 0) return undefined;

    recorder.working(part);
    this.#backoff.noteStart(part.name, clock.monotonic());
    try {
      const result = part.kind === 'process' ? await this.#start(part, recipe) : await this.#run(part, recipe);
      log.info('part started', { process: part.name });
      return result;
    } catch (thrown) {
      const error = asError(thrown);
      log.warn('part failed to start', { process: part.name, error });
      recorder.failed(part, error.message);
      return undefined;
    }
  }

  /** A failure is logged and retried; what runs goes on. */
  #maintain(part: ProcessPart): void {
    const { home, clock, log } = this.#options;
    const now = clock.now();
    const dueAt = this.#maintainAt.get(part.name) ?? now;
    // A clock that was set back must not put it off for longer than a day.
    if (now < dueAt && dueAt - now <= MAINTAIN_EVERY_MS) return;
    let nextMs = MAINTAIN_EVERY_MS;
    try {
      part.maintain?.({ home, clock });
    } catch (thrown) {
      nextMs = MAINTAIN_AGAIN_MS;
      log.error('part could not be maintained, retrying in ten minutes', {
        process: part.name,
        error: asError(thrown),
      });
    }
    this.#maintainAt.set(part.name, now + nextMs);
  }

  async #findRunning(part: ProcessPart, recipe: string): Promise<StartResult | undefined> {
    const { home, clock, log } = this.#options;
    const record = home.records.read(part.name);
    if (!record || !isAlive(record.process)) return undefined;
    if (record.recipe === recipe) return record;
    log.info('replacing a part whose configuration changed', { process: part.name });
    await terminateProcess(record.process, { clock, graceMs: part.graceMs });
    this.#backoff.clear(part.name);
    return undefined;
  }

  async #start(part: ProcessPart, recipe: string): Promise<StartResult> {
    const { home } = this.#options;
    const previous = home.records.read(part.name)?.facts ?? {};
    const { pid, facts, detail } = await part.start(this.#env(previous));
    const identity = identifyProcess(pid);
    if (!identity) throw new Error(`it ended right after its start; see ${home.path('logs', `${part.name}.log`)}`);
    home.records.write({ name: part.name, process: identity, recipe, facts, detail, graceMs: part.graceMs });
    return { facts, detail };
  }

  #findFinished({ name }: TaskPart, recipe: string): StartResult | undefined {
    const finished = this.#chores.get(name);
    return finished?.recipe === recipe ? finished.result : undefined;
  }

  async #run(part: TaskPart, recipe: string): Promise<StartResult> {
    const result = await part.run(this.#env({}));
    this.#chores.set(part.name, { recipe, result });
    return result;
  }

  #env(previous: PartFacts): PartEnv {
    const { home, clock, environment } = this.#options;
    return { home, clock, environment, facts: this.#facts, previous, sockets: this.#sockets };
  }

  /** Ends processes that the plan no longer has. Their records stay until they are gone. */
  async #endUnwanted(wanted: readonly UpPart[]): Promise<void> {
    const { home, clock } = this.#options;
    const keep = new Set(wanted.map(({ name }) => name));
    for (const name of home.records.names()) {
      if (keep.has(name)) continue;
      const record = home.records.read(name);
      if (record) await terminateProcess(record.process, { clock, graceMs: record.graceMs });
      home.records.remove(name);
    }
  }
}

/** When a part that keeps ending may be started again. */
class StartBackoff {
  readonly #records = new Map<string, { readonly attempts: number; readonly at: number }>();

  /** How long to wait, at `now`, before the next start of this part. */
  waitMs(name: string, now: number): number {
    const record = this.#records.get(name);
    return record ? Math.max(0, record.at + backoffMs(record.attempts, RESTART_BACKOFF) - now) : 0;
  }

  /** Forgets the starts of a part that did not end by itself, or of all parts. */
  clear(name?: string): void {
    if (name === undefined) this.#records.clear();
    else this.#records.delete(name);
  }

  /** Notes a start at `now`. */
  noteStart(name: string, now: number): void {
    const { attempts, at } = this.#records.get(name) ?? { attempts: 0, at: now };
    this.#records.set(name, { attempts: now - at > HEALTHY_AFTER_MS ? 1 : attempts + 1, at: now });
  }
}
