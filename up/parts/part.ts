import type { Clock } from '../../pkg/clock/index.js';
import { Fault } from '../../pkg/fault/index.js';
import type { HeldSockets } from '../machine/held-sockets.js';
import type { Home, PartFacts } from '../home/home.js';

/** What a part is given when it starts. */
export interface PartEnv {
  readonly home: Home;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Facts of the parts before it. */
  readonly facts: PartFacts;
  /** Facts of the last process of this part: it keeps its port where it can. */
  readonly previous: PartFacts;
  /** Ports that stay taken while a part is restarted. */
  readonly sockets: HeldSockets;
}

/** The result of starting a part: facts for the parts after it, and a detail to print. */
export interface StartResult {
  readonly facts: PartFacts;
  readonly detail: string;
}

interface PartCommon {
  readonly name: string;
  readonly title: string;
  /** What the user can do when it fails. */
  readonly remedy: string;
  /** Everything it is started with, as text: see `PartRecord.recipe`. */
  recipe(facts: PartFacts): string;
}

/** One process of the all-in-one. */
export interface ProcessPart extends PartCommon {
  readonly kind: 'process';
  readonly graceMs: number;
  /** What must be done once a day while it runs, and may be done at any time: its certificates are renewed. */
  maintain?(env: Pick<PartEnv, 'home' | 'clock'>): void;
  /** Starts it and resolves when it serves. The process must outlive the one that started it. */
  start(env: PartEnv): Promise<StartResult & { readonly pid: number }>;
}

/** A task that runs once, and again after a restart of the supervisor. Running it twice does no harm. */
export interface TaskPart extends PartCommon {
  readonly kind: 'chore';
  run(env: PartEnv): Promise<StartResult>;
}

export type UpPart = ProcessPart | TaskPart;

/** Parts that come up one after the other. Lanes of one stage come up side by side; stages one after the other. */
export type PartLane = readonly UpPart[];
export type PartStages = readonly (readonly PartLane[])[];

/** A part of the all-in-one did not come up. */
export class PartFault extends Fault {
  readonly retriable = true;
}
