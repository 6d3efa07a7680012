import { ENDED_RUNS_MAX, formatAgentRun } from '../../link/index.js';
import type { AgentEnv } from '../agent-env.js';

const FILE = 'runs.json';

/** One run of the agent, as its state folder remembers it. */
interface StoredRun {
  readonly id: string;
  readonly boot?: string;
  readonly process?: string;
  /** It ended by itself, with all its work. */
  readonly hasEnded?: true;
}

type HoldEnv = Pick<AgentEnv, 'clock' | 'random' | 'disk' | 'log' | 'processes'>;

/**
 * Whether this run of the agent has its node.
 *
 * A copy of the machine, or of the state folder, has the same identity: of both, the control plane accepts one, and this one
 * acts only while it is that one. It names the runs before it whose processes have certainly ended: they stopped by
 * themselves, or they were started since this boot and run no more. A copy cannot know that of the original.
 */
export class NodeHold {
  readonly #env: HoldEnv;
  readonly #own: StoredRun;
  readonly #former: readonly StoredRun[];
  #state: 'unknown' | 'held' | 'refused' = 'unknown';
  #refusedAt = 0;
  #held = new AbortController();
  #lost = new AbortController();

  private constructor(env: HoldEnv, own: StoredRun, former: readonly StoredRun[]) {
    this.#env = env;
    this.#own = own;
    this.#former = former;
  }

  /** Begins a run, and leaves word of it for the next one. */
  static async begin(env: HoldEnv): Promise<NodeHold> {
    const { random, processes } = env;
    const id = random.bytes(8).toString('hex');
    const own = { id, ...(processes && { boot: processes.boot, process: processes.self }) };
    const hold = new NodeHold(env, own, readRuns(await env.disk.read(FILE)));
    await hold.#save(own);
    return hold;
  }

  /** Value of the header that names this run. */
  get header(): string {
    const ended = this.#former.filter(run => this.#isEnded(run)).map(({ id }) => id);
    return formatAgentRun({ id: this.#own.id, ended });
  }

  get isHeld(): boolean {
    return this.#state === 'held';
  }

  /** Aborted when the node is lost to another agent; a new signal once it is held again. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** For how long the control plane has refused this run without a break. */
  get refusedForMs(): number {
    return this.#state === 'refused' ? this.#env.clock.monotonic() - this.#refusedAt : 0;
  }

  /** The machine has become another node: whether this run has it is not known. */
  reset(): void {
    this.#leave('unknown');
  }

  /** The control plane has accepted a heartbeat. */
  confirm(): void {
    if (this.#state === 'held') return;
    if (this.#state === 'refused') this.#env.log.info('the control plane accepts this agent: it has its node again');
    this.#state = 'held';
    this.#lost = new AbortController();
    this.#held.abort();
  }

  /** The control plane has refused this run, because another agent has the node. */
  refuse(): void {
    if (this.#state === 'refused') return;
    this.#leave('refused');
    this.#refusedAt = this.#env.clock.monotonic();
    this.#lost.abort();
    this.#env.log.error(
      'another agent with the identity of this node is running: this one does nothing until the other is stopped; if this machine is a copy, remove its state folder and enrol it under a name of its own',
    );
  }

  /** Resolves when the node is held, or when `signal` is aborted. */
  untilHeld(signal: AbortSignal): Promise<void> {
    if (this.isHeld || signal.aborted) return Promise.resolve();
    const { signal: held } = this.#held;
    return new Promise(resolve => {
      const finish = () => {
        held.removeEventListener('abort', finish);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      held.addEventListener('abort', finish, { once: true });
      signal.addEventListener('abort', finish, { once: true });
    });
  }

  /** Leaves word that this run has ended: the next one need not wait for its lease. */
  end(): Promise<void> {
    return this.#save({ ...this.#own, hasEnded: true });
  }

  #leave(state: 'unknown' | 'refused'): void {
    this.#state = state;
    if (this.#held.signal.aborted) this.#held = new AbortController();
  }

  #isEnded({ boot, process, hasEnded }: StoredRun): boolean {
    const { processes } = this.#env;
    if (hasEnded) return true;
    return processes !== undefined && boot === processes.boot && !processes.isRunning(process ?? '');
  }

  /** An agent that cannot write goes on: its successor waits until the lease of this run has ended. */
  #save(own: StoredRun): Promise<void> {
    return this.#env.disk.keep(FILE, JSON.stringify([own, ...this.#former].slice(0, ENDED_RUNS_MAX)));
  }
}

/** Whether the agent of a state folder runs, as far as this machine shows it. */
export async function isAgentRunning({ disk, processes }: Pick<HoldEnv, 'disk' | 'processes'>): Promise<boolean> {
  const runs = readRuns(await disk.read(FILE));
  return runs.some(({ boot, process = '' }) => boot === processes?.boot && processes?.isRunning(process) === true);
}

/** What cannot be read is left out: then this run waits until the lease of the one before has ended. */
function readRuns(text = '[]'): readonly StoredRun[] {
  try {
    const runs = JSON.parse(text) as readonly StoredRun[];
    return runs.filter(({ id }) => /^[0-9a-f]{16}$/.test(id)).slice(0, ENDED_RUNS_MAX);
  } catch {
    return [];
  }
}
