import { backoffMs, type Clock, sleep } from '../pkg/clock/index.js';
import { asError } from '../pkg/fault/index.js';
import type { Logger } from '../pkg/log/index.js';
import type { Home } from './home.js';
import { end, identify, isAlive } from './identity.js';
import { Ledger } from './ledger.js';
import type { Came, ChorePart, Facts, Lane, Part, PartEnv, ProcessPart, Stages } from './part.js';
import type { Plan } from './plan.js';

const LOOK_EVERY_MS = 500;
const RESTART_BACKOFF = { firstMs: 500, capMs: 30_000 };
/** A process that lived this long is not in a crash loop. */
const HEALTHY_AFTER_MS = 30_000;

export interface SupervisorOptions {
  readonly home: Home;
  readonly clock: Clock;
  readonly log: Logger;
  readonly environment: PartEnv['environment'];
  /** Whether this is still the one supervisor of its home. Looked at before each pass. */
  readonly isInCharge: () => boolean;
  /** Which parts a plan asks for. */
  readonly stagesOf: (plan: Plan) => Promise<Stages>;
}

/**
 * Keeps the parts of the all-in-one up.
 *
 * It looks, again and again, at what should run and at what does, and starts what is missing. It makes no difference
 * between a part it started itself and one that an earlier supervisor left behind: both are recorded on disk.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #backoff = new StartBackoff();
  readonly #chores = new Map<string, { readonly recipe: string; readonly came: Came }>();
  #facts: Facts = {};

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Carries out the plan on disk, whichever it is at the moment, until aborted or relieved. */
  async run(signal: AbortSignal): Promise<void> {
    const { home, clock, isInCharge } = this.#options;
    let ledger: Ledger | undefined;
    while (!signal.aborted && isInCharge()) {
      const plan = home.plan.read();
      if (plan) {
        ledger ??= new Ledger(home, clock, plan);
        await this.#pass(plan, ledger, signal);
      }
      await sleep(clock, LOOK_EVERY_MS, signal);
    }
  }

  async #pass(plan: Plan, ledger: Ledger, signal: AbortSignal): Promise<void> {
    const stages = await this.#options.stagesOf(plan);
    const parts = stages.flat(2);
    ledger.begin(plan, parts);
    await this.#endUnwanted(parts);
    for (const lanes of stages) {
      const up = await Promise.all(lanes.map(lane => this.#bringUp(lane, ledger, signal)));
      if (signal.aborted) return;
      if (!up.every(Boolean)) return ledger.finish('failed');
    }
    ledger.finish('up');
  }

  async #bringUp(lane: Lane, ledger: Ledger, signal: AbortSignal): Promise<boolean> {
    for (const part of lane) {
      if (signal.aborted) return false;
      const came = await this.#ensure(part, ledger);
      if (!came) return false;
      this.#facts = { ...this.#facts, ...came.facts };
      ledger.done(part, came.detail);
    }
    return true;
  }

  /** Sees that one part is up. Answers nothing when it is not, and will not be before the next look. */
  async #ensure(part: Part, ledger: Ledger): Promise<Came | undefined> {
    const { clock, log } = this.#options;
    const recipe = part.recipe(this.#facts);
    const standing = part.kind === 'process' ? await this.#standing(part, recipe) : this.#finished(part, recipe);
    if (standing) return standing;
    if (this.#backoff.waitMs(part.name, clock.monotonic()) > 0) return undefined;

    ledger.working(part);
    this.#backoff.noteStart(part.name, clock.monotonic());
    try {
      const came = part.kind === 'process' ? await this.#start(part, recipe) : await this.#run(part, recipe);
      log.info('part is up', { process: part.name });
      return came;
    } catch (thrown) {
      const error = asError(thrown);
      log.warn('part did not come up', { process: part.name, error });
      ledger.failed(part, error.message);
      return undefined;
    }
  }

  async #standing(part: ProcessPart, recipe: string): Promise<Came | undefined> {
    const { home, clock, log } = this.#options;
    const record = home.records.read(part.name);
    if (!record || !isAlive(record.process)) return undefined;
    if (record.recipe === recipe) return record;
    log.info('part is replaced', { process: part.name });
    await end(record.process, { clock, graceMs: part.graceMs });
    return undefined;
  }

  async #start(part: ProcessPart, recipe: string): Promise<Came> {
    const { home } = this.#options;
    const previous = home.records.read(part.name)?.facts ?? {};
    const { pid, facts, detail } = await part.start(this.#env(previous));
    const identity = identify(pid);
    if (!identity) throw new Error(`ended right after it had started; see ${home.path('logs', `${part.name}.log`)}`);
    home.records.write({ name: part.name, process: identity, recipe, facts, detail, graceMs: part.graceMs });
    return { facts, detail };
  }

  #finished(part: ChorePart, recipe: string): Came | undefined {
    const known = this.#chores.get(part.name);
    return known?.recipe === recipe ? known.came : undefined;
  }

  async #run(part: ChorePart, recipe: string): Promise<Came> {
    const came = await part.run(this.#env({}));
    this.#chores.set(part.name, { recipe, came });
    return came;
  }

  #env(previous: Facts): PartEnv {
    const { home, clock, environment } = this.#options;
    return { home, clock, environment, facts: this.#facts, previous };
  }

  /** A smaller plan leaves processes over. Their records stay until they are gone. */
  async #endUnwanted(wanted: readonly Part[]): Promise<void> {
    const { home, clock } = this.#options;
    const keep = new Set(wanted.map(({ name }) => name));
    for (const name of home.records.names()) {
      if (keep.has(name)) continue;
      const record = home.records.read(name);
      if (record) await end(record.process, { clock, graceMs: record.graceMs });
      home.records.remove(name);
    }
  }
}

interface StartRecord {
  readonly attempts: number;
  readonly at: number;
}

/** When a part that keeps ending may be started again. */
class StartBackoff {
  readonly #records = new Map<string, StartRecord>();

  /** How long to wait, at `now`, before the next start of this part. */
  waitMs(name: string, now: number): number {
    const record = this.#records.get(name);
    return record ? Math.max(0, record.at + backoffMs(record.attempts, RESTART_BACKOFF) - now) : 0;
  }

  /** Notes a start at `now`. */
  noteStart(name: string, now: number): void {
    const { attempts, at } = this.#records.get(name) ?? { attempts: 0, at: now };
    this.#records.set(name, { attempts: now - at > HEALTHY_AFTER_MS ? 1 : attempts + 1, at: now });
  }
}
