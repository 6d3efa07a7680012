import { type AgentIdentity, type AssignmentLine, LinkUnreachableFault } from '../../pkg/link/index.js';
import type { SimProcess } from '../../dev/simulation/index.js';
import type { ApiServer } from './front.js';

/** One stream of assignments from a server to an agent: in order, late at times, and now and then broken. */
export class LineStream {
  readonly #agent: SimProcess;
  readonly #holder: ApiServer;
  readonly #onLine: (line: AssignmentLine) => void;
  readonly #inbox: AssignmentLine[] = [];
  #forget: readonly (() => void)[] = [];
  #pumping = false;
  #open = true;
  #broken: (fault: Error) => void = () => undefined;

  constructor(agent: SimProcess, holder: ApiServer, onLine: (line: AssignmentLine) => void) {
    this.#agent = agent;
    this.#holder = holder;
    this.#onLine = onLine;
  }

  /** Hands over lines until `signal` is aborted; throws when the stream breaks or the server dies. */
  run(node: AgentIdentity, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve(); // while the stream was being opened
    return new Promise((resolve, reject) => {
      const finish = () => {
        this.#end();
        resolve();
      };
      this.#broken = reject;
      signal.addEventListener('abort', finish, { once: true });
      this.#forget = [
        () => signal.removeEventListener('abort', finish),
        this.#holder.life.onEnd(() => this.#break()),
        this.#agent.onEnd(() => this.#end()),
      ];
      const onLine = (line: AssignmentLine) => {
        this.#inbox.push(line);
        this.#pump();
      };
      const close = this.#holder.dispatcher.assignments(node, onLine, () => this.#break());
      this.#forget = [...this.#forget, close];
    });
  }

  #end(): void {
    this.#open = false;
    for (const each of this.#forget) each();
  }

  #break(): void {
    if (!this.#open) return;
    this.#end();
    const afterMs = this.#agent.world.between(0, 1_000);
    this.#agent.later(afterMs, 'loses its stream', () => this.#broken(new LinkUnreachableFault('the stream broke')));
  }

  #pump(): void {
    if (this.#pumping || this.#inbox.length === 0) return;
    this.#pumping = true;
    const { world, faults } = this.#agent;
    const lagMs = world.chance(faults.feedLag) ? faults.feedLagMs : faults.delayMs;
    this.#agent.later(world.between(0, lagMs), 'hears an assignment', () => {
      this.#pumping = false;
      if (!this.#open) return;
      const cut = this.#agent.cutOff('others') || this.#holder.life.cutOff('others');
      if (cut || world.chance(faults.feedCut)) return this.#break();
      this.#onLine(this.#inbox.shift()!);
      this.#pump();
    });
  }
}
