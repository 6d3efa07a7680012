import type { Replica } from '../../../crds/replica/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { DesiredState } from '../assignments.js';
import { type Disk, readStateFile } from '../disk.js';
import type { ContainerStatus } from '../engine/index.js';
import type { AttemptFacts, StepFailure } from './next-step.js';
import type { ReplicaReporter } from './replica-reporter.js';

const FILE = 'attempts.json';
/** Attempts that are remembered, the newest, beside all that are assigned. */
const KEPT = 1_000;
/** How long the engine has to show the effect of a start that it did not answer. */
const CONFIRM_MS = 15_000;

interface StartedAttempt {
  /** Why it has failed, whatever its program makes of it: the start was refused or never confirmed, or it is to be stopped. */
  readonly failure?: StepFailure;
}

/**
 * The attempts of jobs whose containers this agent was about to start: it starts none of them again, whatever the engine
 * shows. They are on disk before the engine is asked, and outlive their containers.
 */
export class Attempts {
  readonly #clock: AgentEnv['clock'];
  readonly #disk: Disk;
  readonly #wanted: (uid: string) => DesiredState;
  readonly #started: Map<string, StartedAttempt>;
  /** Monotonic times of starts; of those before this run of the agent, when it began. */
  readonly #since = new Map<string, number>();
  readonly #loadedAt: number;
  #saved: Promise<void> = Promise.resolve();

  private constructor(
    { clock, disk }: Pick<AgentEnv, 'clock' | 'disk'>,
    wanted: (uid: string) => DesiredState,
    stored: Readonly<Record<string, StartedAttempt>>,
  ) {
    this.#clock = clock;
    this.#disk = disk;
    this.#wanted = wanted;
    this.#started = new Map(Object.entries(stored));
    this.#loadedAt = clock.monotonic();
  }

  /** `wanted` says what is assigned: only what is certainly not is ever forgotten. */
  static async load(env: Pick<AgentEnv, 'clock' | 'disk'>, wanted: (uid: string) => DesiredState): Promise<Attempts> {
    const stored = await readStateFile<Readonly<Record<string, StartedAttempt>>>(env.disk, FILE, () => true);
    return new Attempts(env, wanted, stored ?? {});
  }

  /**
   * What the next step of an attempt depends on; undefined for a replica that is to be kept running. A container that has run is
   * noted where it was not: the file may have been lost.
   */
  async observe(
    replica: Replica | undefined,
    container: ContainerStatus | undefined,
  ): Promise<AttemptFacts | undefined> {
    if (!replica?.once) return undefined;
    const hasRun = container !== undefined && container.state !== 'created';
    if (hasRun && !this.#started.has(replica.uid)) await this.#put(replica.uid, judgeUnknown(replica, container));
    const started = this.#started.get(replica.uid);
    const since = this.#since.get(replica.uid) ?? this.#loadedAt;
    return {
      wasStarted: started !== undefined,
      hasFailed: started?.failure !== undefined,
      confirmMs: Math.max(0, since + CONFIRM_MS - this.#clock.monotonic()),
      leftMs: this.countLeft(replica, container),
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

  /** To be called, and awaited, before the engine is asked to stop it: its program may end well all the same. */
  async noteStop({ uid, once }: Replica, excess: string | undefined): Promise<void> {
    if (this.#started.get(uid)?.failure) return;
    const isOverDisk = excess !== undefined;
    const overDisk = { reason: 'disk_limit_exceeded', message: excess ?? '' } as const;
    await this.noteFailure(uid, isOverDisk ? overDisk : describeTimeout(once?.timeoutSeconds ?? 0));
  }

  /** Says how an attempt stands: that it runs, how it ended, or that this cannot be known any more. */
  report({ uid }: Replica, container: ContainerStatus | undefined, reporter: ReplicaReporter): void {
    if (container?.state === 'running') return reporter.reportStatus(uid);
    const { failure } = this.#started.get(uid) ?? {};
    if (container) reporter.reportEnd(uid, failure);
    else reporter.reportLost(uid, failure);
  }

  /** How long the container may still run, if it does and that is limited. */
  countLeft(replica: Replica | undefined, container: ContainerStatus | undefined): number {
    const { timeoutSeconds } = replica?.once ?? {};
    if (timeoutSeconds === undefined || container?.state !== 'running' || !container.startedAt) return Infinity;
    return Date.parse(container.startedAt) + timeoutSeconds * 1000 - this.#clock.now();
  }

  /** What could not be written is not noted: the next caller that needs the note tries again. */
  #put(uid: string, started: StartedAttempt): Promise<void> {
    const write = async () => {
      const before = this.#started.get(uid);
      this.#started.delete(uid); // the map is in the order of the last starts
      this.#started.set(uid, started);
      this.#prune();
      try {
        await this.#disk.write(FILE, JSON.stringify(Object.fromEntries(this.#started)));
      } catch (thrown) {
        if (before) this.#started.set(uid, before);
        else this.#started.delete(uid);
        throw thrown;
      }
    };
    this.#saved = this.#saved.then(write, write);
    return this.#saved;
  }

  #prune(): void {
    for (const oldest of [...this.#started.keys()].slice(0, Math.max(0, this.#started.size - KEPT))) {
      if (this.#wanted(oldest) !== 'nothing') continue;
      this.#started.delete(oldest);
      this.#since.delete(oldest);
    }
  }
}

/** Whether one of which nothing was noted was stopped is judged by its times alone: its exit code may be a success all the same. */
function judgeUnknown({ once }: Replica, { state, startedAt = '', endedAt = '' }: ContainerStatus): StartedAttempt {
  const { timeoutSeconds = Infinity } = once ?? {};
  const hasOverrun = state !== 'running' && Date.parse(endedAt) - Date.parse(startedAt) >= timeoutSeconds * 1000;
  return hasOverrun ? { failure: describeTimeout(timeoutSeconds) } : {};
}

/** The engine did not say whether it has started the container, and it has not. */
export const UNCONFIRMED: StepFailure = {
  reason: 'start_unconfirmed',
  message:
    'the container engine did not say whether it has started the container, which was removed: an attempt is started once at most; look at the log of the engine',
};

function describeTimeout(seconds: number): StepFailure {
  return {
    reason: 'timed_out',
    message: `it ran for longer than timeoutSeconds (${seconds}) and was stopped: have it do less, or raise timeoutSeconds`,
  };
}
