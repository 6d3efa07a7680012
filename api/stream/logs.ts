import type { IncomingMessage } from 'node:http';

import type { Clock } from '../../pkg/clock/index.js';

/** A stream of log lines that an agent has begun to send. */
export interface LogSource {
  readonly lines: IncomingMessage;
  /** To be called when the reader needs no more of it. */
  readonly done: () => void;
}

/** How a wait ended: with the stream, declined by an agent that serves too many, or too late. */
export type LogArrival = LogSource | 'declined' | 'late';

interface Waiting {
  readonly nodeId: string;
  readonly settle: (arrival: LogArrival) => void;
}

/** Brings a reader of logs together with the agent that sends them. */
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

  /** Hands over a stream. Resolves when its reader is done with it; undefined when no reader waits for it from this node. */
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

  /** Notes that the node will not send the stream. False when no reader waits for it from this node. */
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
