import type { IncomingMessage } from 'node:http';

import type { Clock } from '../pkg/clock/index.js';

/** A stream of log lines that an agent has begun to send. */
export interface LogSource {
  readonly lines: IncomingMessage;
  /** To be called when nothing more is wanted of it. */
  readonly done: () => void;
}

interface Waiting {
  readonly nodeId: string;
  readonly arrived: (source: LogSource) => void;
}

/** Where those who want logs meet the agents who were asked to send them. */
export class LogDesk {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Waiting>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the node to dial in with the stream of that id. Undefined when it does not within `ms`. */
  await(id: string, nodeId: string, ms: number): Promise<LogSource | undefined> {
    return new Promise(resolve => {
      const settle = (source: LogSource | undefined) => {
        cancel();
        this.#waiting.delete(id);
        resolve(source);
      };
      const cancel = this.#clock.after(ms, () => settle(undefined));
      this.#waiting.set(id, { nodeId, arrived: settle });
    });
  }

  /** Hands over a stream. Resolves when its reader is done with it; undefined when nobody waits for it from this node. */
  deliver(id: string, nodeId: string, lines: IncomingMessage): Promise<void> | undefined {
    const waiting = this.#waiting.get(id);
    if (!waiting || waiting.nodeId !== nodeId) return undefined;
    return new Promise(resolve => {
      lines.once('close', resolve);
      waiting.arrived({ lines, done: resolve });
    });
  }
}
