import type { Replica } from '../../crds/replica/index.js';
import type { AgentEnv } from './agent-env.js';
import { type Disk, readStateFile } from './disk.js';
import type { ContainerStatus } from './engine/index.js';
import type { AttemptFacts, StepFailure } from './next-step.js';
import type { ReplicaReporter } from './replica-reporter.js';

const FILE = 'attempts.json';
/** Attempts that are remembered, the newest: far more than a node has at once. */
const KEPT = 1_000;
/** How long the engine has to show the effect of a start that it did not answer. */
const CONFIRM_MS = 15_000;

interface StartedAttempt {
  /** Its container is not to be waited for: the engine refused the start, or never confirmed it. */
  readonly failure?: StepFailure;
}

/**
 * The attempts of jobs whose containers this agent was about to start: it starts none of them again, whatever the engine
 * shows. They are on disk before the engine is asked, and outlive their containers.
 */
export class Attempts {
  readonly #clock: AgentEnv['clock'];
  readonly #disk: Disk;
  readonly #started: Map<string, StartedAttempt>;
  /** Monotonic times of starts; of those before this run of the agent, when it began. */
  readonly #since = new Map<string, number>();
  readonly #loadedAt: number;
  #saved: Promise<void> = Promise.resolve();

  private constructor(
    { clock, disk }: Pick<AgentEnv, 'clock' | 'disk'>,
    stored: Readonly<Record<string, StartedAttempt>>,
  ) {
    this.#clock = clock;
    this.#disk = disk;
    this.#started = new Map(Object.entries(stored));
    this.#loadedAt = clock.monotonic();
  }

  static async load(env: Pick<AgentEnv, 'clock' | 'disk'>): Promise<Attempts> {
    const stored = await readStateFile<Readonly<Record<string, StartedAttempt>>>(env.disk, FILE, () => true);
    return new Attempts(env, stored ?? {});
  }

  /** What the next step of an attempt depends on; undefined for a replica that is to be kept running. */
  observe(replica: Replica | undefined, container: ContainerStatus | undefined): AttemptFacts | undefined {
    if (!replica?.once) return undefined;
    const started = this.#started.get(replica.uid);
    const since = this.#since.get(replica.uid) ?? this.#loadedAt;
    return {
      wasStarted: started !== undefined,
      hasFailed: started?.failure !== undefined,
      confirmMs: Math.max(0, since + CONFIRM_MS - this.#clock.monotonic()),
      leftMs: this.#countLeft(replica, container),
    };
  }

  /** To be called, and awaited, before the engine is asked to start the container. */
  async noteStart(uid: string): Promise<void> {
    this.#since.set(uid, this.#clock.monotonic());
    await this.#put(uid, {});
  }

  async noteFailure(uid: string, failure: StepFailure): Promise<void> {
    await this.#put(uid, { failure });
  }

  /** Says how an attempt stands: that it runs, how it ended, or that this cannot be known any more. */
  report(replica: Replica, container: ContainerStatus | undefined, reporter: ReplicaReporter): void {
    const { uid, once } = replica;
    if (container?.state === 'running') return reporter.reportStatus(uid);
    const { failure } = this.#started.get(uid) ?? {};
    if (!container) return reporter.reportLost(uid, failure ?? LOST);
    const isTimedOut = this.#countLeft(replica, container) <= 0;
    reporter.reportEnd(uid, isTimedOut ? describeTimeout(once?.timeoutSeconds ?? 0) : undefined);
  }

  /** How long the container may still run; of one that has ended, how long it might have. */
  #countLeft({ once }: Replica, container: ContainerStatus | undefined): number {
    if (once?.timeoutSeconds === undefined || container?.startedAt === undefined) return Infinity;
    const until = container.endedAt === undefined ? this.#clock.now() : Date.parse(container.endedAt);
    return Date.parse(container.startedAt) + once.timeoutSeconds * 1000 - until;
  }

  #put(uid: string, started: StartedAttempt): Promise<void> {
    this.#started.delete(uid); // the map is in the order of the last starts
    this.#started.set(uid, started);
    for (const oldest of [...this.#started.keys()].slice(0, Math.max(0, this.#started.size - KEPT))) {
      this.#started.delete(oldest);
      this.#since.delete(oldest);
    }
    const write = () => this.#disk.write(FILE, JSON.stringify(Object.fromEntries(this.#started)));
    this.#saved = this.#saved.then(write, write);
    return this.#saved;
  }
}

/** The engine did not say whether it has started the container, and it has not. */
export const UNCONFIRMED: StepFailure = {
  reason: 'start_unconfirmed',
  message:
    'the container engine did not say whether it has started the container, which was removed: an attempt is started once at most; look at the log of the engine',
};

const LOST: StepFailure = {
  reason: 'container_lost',
  message:
    'its container was removed by something else, so its exit code is not known: look on the node for what removes containers',
};

function describeTimeout(seconds: number): StepFailure {
  return {
    reason: 'timed_out',
    message: `it ran for longer than timeoutSeconds (${seconds}) and was stopped: have it do less, or raise timeoutSeconds`,
  };
}
