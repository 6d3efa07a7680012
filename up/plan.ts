/** What containers run on: an engine that is found or started, or none at all. */
export type EngineKind = 'docker' | 'simulated';

/** What `moor up` asks of the supervisor. */
export interface Plan {
  /** Tells one asking from another: the supervisor says which one it has carried out. */
  readonly id: string;
  readonly nodes: number;
  readonly engine: EngineKind;
}

export type StepState = 'waiting' | 'working' | 'done' | 'failed';

/** One thing that must be up, as a person follows it. */
export interface Step {
  readonly name: string;
  readonly title: string;
  readonly state: StepState;
  readonly ms?: number;
  /** What came of it: an address, or the reason why it failed. */
  readonly detail?: string;
  /** What to do about a failure. */
  readonly remedy?: string;
}

/** How far the supervisor is with a plan. */
export interface Progress {
  readonly plan: string;
  readonly outcome: 'working' | 'up' | 'failed';
  readonly steps: readonly Step[];
}
