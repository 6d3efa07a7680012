import { setTimeout as pause } from 'node:timers/promises';

import { type Client, UnreachableFault } from '../../pkg/client/index.js';
import { readLines } from '../../pkg/ndjson/index.js';

/** One line of a watch, exactly as the server has sent it. */
export interface RawLine<T> {
  readonly type: string;
  readonly cursor: string;
  readonly object: T;
}

/**
 * A watch that hides nothing: every line that was sent, in the order it was sent, over connections that break.
 *
 * The client's own watch leaves out what it has delivered before, so it could not tell a server that repeats itself from
 * one that does not.
 */
export class RawTail<T> {
  readonly lines: RawLine<T>[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: Client, path: string) {
    this.#running = this.#run(client, path);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(client: Client, path: string): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#read(client, path);
      } catch (thrown) {
        if (!(thrown instanceof UnreachableFault)) throw thrown;
      }
      await pause(50);
    }
  }

  async #read(client: Client, path: string): Promise<void> {
    const query = { watch: true, after: this.lines.at(-1)?.cursor };
    const answer = await client.stream(path, { query, signal: this.#stop.signal });
    if (answer.ok) for await (const line of readLines(answer.body)) this.lines.push(JSON.parse(line) as RawLine<T>);
    else if (answer.status !== 503) throw new Error(`the watch was refused: ${answer.rejections[0].code}`);
  }
}

/** Whether every cursor is after the one before it. */
export function isRising(cursors: readonly string[]): boolean {
  const places = cursors.map(cursor => cursor.split('.').map(Number));
  return places.every(([revision = 0, position = 0], at) => {
    const [before = -1, within = -1] = at === 0 ? [] : places[at - 1]!;
    return revision > before || (revision === before && position > within);
  });
}
