import type { Clock } from '../pkg/clock/index.js';
import type { Home } from './home.js';
import type { ProcessIdentity } from './identity.js';

/** What parts learn from the parts before them: addresses, mostly. */
export type Facts = Readonly<Record<string, string>>;

/** A process that was started: enough to recognise it, to use it, and to end it. */
export interface PartRecord {
  readonly name: string;
  readonly process: ProcessIdentity;
  /** What it was started with. A part that would now be started with something else is replaced. */
  readonly recipe: string;
  readonly facts: Facts;
  readonly detail: string;
  /** How long it has to end by itself. */
  readonly graceMs: number;
}

/** What a part may reach for while it starts. */
export interface PartEnv {
  readonly home: Home;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What the parts before it have told. */
  readonly facts: Facts;
  /** What the last process of this part told: a port is kept where it can be. */
  readonly previous: Facts;
}

/** What came of starting a part: facts for the parts after it, and a word for people. */
export interface Came {
  readonly facts: Facts;
  readonly detail: string;
}

interface Common {
  readonly name: string;
  readonly title: string;
  /** What a person can do when it fails. */
  readonly remedy: string;
  /** Everything it is started with, as text: see `PartRecord.recipe`. */
  recipe(facts: Facts): string;
}

/** One process of the all-in-one. */
export interface ProcessPart extends Common {
  readonly kind: 'process';
  readonly graceMs: number;
  /** Starts it and answers when it serves. The process must outlive the one that started it. */
  start(env: PartEnv): Promise<Came & { readonly pid: number }>;
}

/** Something to do once, and again after a restart of the supervisor. Doing it twice does no harm. */
export interface ChorePart extends Common {
  readonly kind: 'chore';
  run(env: PartEnv): Promise<Came>;
}

export type Part = ProcessPart | ChorePart;

/** Parts that come up one after the other. Lanes of one stage come up side by side; stages one after the other. */
export type Lane = readonly Part[];
export type Stages = readonly (readonly Lane[])[];
