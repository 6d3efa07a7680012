import type { IncomingMessage } from 'node:http';

import type { Clock } from '../../pkg/clock/index.js';

/** A stream of log lines that an agent has begun to send. */
export interface LogSource {
  readonly lines: IncomingMessage;
  /** To be called when nothing more is wanted of it. */
  readonly done: () => void;
}

/** What became of a wait: the stream, the agent's word that it carries too many, or nothing in time. */
export type LogArrival = LogSource | 'declined' | 'late';

interface Waiting {
  readonly nodeId: string;
  readonly settle: (arrival: LogArrival) => void;
}

/** Where those who want logs meet the agents who were asked to send them. */
export class LogRendezvous {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the node to dial in with the stream of that id. */
  await(id: string, nodeId: string, ms: number): Promise<LogArrival> {
    return new Promise(resolve => {
      const settle = (arrival: LogArrival) => {
        cancel();
        this.#waiting.delete(id);
        resolve(arrival);
      };
      const cancel = this.#clock.after(ms, () => settle('late'));
      this.#waiting.set(id, { nodeId, settle });
    });
  }

  /** Hands over a stream. Resolves when its reader is done with it; undefined when nobody waits for it from this node. */
  deliver(id: string, nodeId: string, lines: IncomingMessage): Promise<void> | undefined {
    const waiting = this.#waitingFor(id, nodeId);
    return (
      waiting &&
      new Promise(resolve => {
        lines.once('close', resolve);
        waiting.settle({ lines, done: resolve });
      })
    );
  }

  /** Takes a node's word that no stream will come. False when nobody waits for it from this node. */
  decline(id: string, nodeId: string): boolean {
    const waiting = this.#waitingFor(id, nodeId);
    waiting?.settle('declined');
    return waiting !== undefined;
  }

  #waitingFor(id: string, nodeId: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    return waiting?.nodeId === nodeId ? waiting : undefined;
  }
}
