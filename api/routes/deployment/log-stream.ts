import { describeSilentEngine } from '../../../crds/reasons/index.js';
import type { ServerResponse } from 'node:http';

import type { Clock } from '../../../pkg/clock/index.js';
import type { LogEnd, LogLine } from '../../../pkg/link/index.js';
import type { LogSource } from '../../stream/logs.js';

/** How a log is written: as JSON lines, as server-sent events, or as its plain text. */
export type LogEncoding = 'ndjson' | 'sse' | 'text';

/** What a client receives at the end of a stream. `node_lost`: the agent is gone in the middle. */
type EndReason = LogEnd | 'node_lost';

const BOOKMARK_MS = 5_000;

const END_MESSAGES: Readonly<Record<EndReason, string>> = {
  complete: 'this is all that the container has printed until now',
  container_gone: 'the container was removed; a later one of this replica can be read with the same cursor',
  no_container: 'the replica has no container',
  engine_unreachable: describeSilentEngine('the container engine of the node'),
  node_lost: 'the agent of the node broke off or is silent; the log can be resumed with the last cursor',
};

export interface LogStreamOptions {
  readonly format: LogEncoding;
  /** The number of the replica. */
  readonly replica: number;
  readonly clock: Clock;
  /** Others write to the same answer, and it is not this one's to end. */
  readonly isShared?: true;
}

/** What follows a cursor: a position in the log of a container, and the node that it was on. */
export interface LogCursor {
  readonly nodeId: string;
  readonly position: string;
}

const CURSOR = /^(node_[0-9A-Za-z_]{1,59}) ([0-9a-f]{12,64}:(?:stdout|stderr):\d{10}\.\d{9}:[1-9]\d{0,8})$/;

export function formatLogCursor({ nodeId, position }: LogCursor): string {
  return Buffer.from(`${nodeId} ${position}`).toString('base64url');
}

export function parseLogCursor(text: string): LogCursor | undefined {
  const [, nodeId, position] = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  return nodeId === undefined || position === undefined ? undefined : { nodeId, position };
}

const MOST_CURSORS = 64;

/** `0:cursor,2:cursor`: where the log of each replica is resumed. Undefined when one of them is none. */
export function parseLogCursors(text: string): ReadonlyMap<number, LogCursor> | undefined {
  const parts = text.split(',', MOST_CURSORS + 1);
  if (parts.length > MOST_CURSORS) return undefined;
  const cursors = new Map<number, LogCursor>();
  for (const part of parts) {
    const colon = part.indexOf(':');
    const slot = part.slice(0, colon);
    const cursor = /^\d{1,7}$/.test(slot) ? parseLogCursor(part.slice(colon + 1)) : undefined;
    if (!cursor) return undefined;
    cursors.set(Number(slot), cursor);
  }
  return cursors;
}

/** Copies streams to a client, one after the other and at its pace, and says at the end why it ended. */
export class LogStream {
  readonly #out: ServerResponse;
  readonly #options: LogStreamOptions;
  #cursor: string | undefined;

  constructor(out: ServerResponse, options: LogStreamOptions) {
    this.#out = out;
    this.#options = options;
  }

  async copy(sources: readonly LogSource[]): Promise<void> {
    const { clock, format } = this.#options;
    const bookmark = () => {
      if (format !== 'text') this.#write({ type: 'bookmark', cursor: this.#cursor ?? null, ...this.#own() });
      cancel = clock.after(BOOKMARK_MS, bookmark);
    };
    let cancel = clock.after(BOOKMARK_MS, bookmark);
    let reason: EndReason | undefined;
    try {
      for (const source of sources) reason = await this.#copyOne(source);
    } finally {
      cancel();
      for (const { done } of sources) done();
    }
    if (this.#out.destroyed || this.#out.writableEnded) return;
    this.#end(reason ?? 'complete');
  }

  async #copyOne({ nodeId, lines }: LogSource): Promise<EndReason> {
    for await (const line of lines) {
      if (this.#out.destroyed || this.#out.writableEnded) return 'complete';
      if (line.end) return line.end;
      await this.#writeLine(nodeId, line);
    }
    return 'node_lost';
  }

  async #writeLine(nodeId: string, line: LogLine): Promise<void> {
    const { replica, format } = this.#options;
    const { stream, text, at, position, begin, gap } = line;
    if (position !== undefined) this.#cursor = formatLogCursor({ nodeId, position });
    const cursor = this.#cursor ?? null;
    if (begin?.removedAt !== undefined) this.#write({ type: 'removed', cursor, replica, removedAt: begin.removedAt });
    if (gap) this.#write({ type: 'gap', cursor, replica });
    if (text === '') return;
    const isTaken =
      format === 'text'
        ? this.#out.write(text)
        : this.#write({ type: 'line', cursor, replica, stream, at: at ? toIsoTime(at) : null, text });
    if (!isTaken) await waitForDrain(this.#out);
  }

  /** Plain text has no place for a reason: what did not end well is cut, so that a client does not take it for the whole. */
  #end(reason: EndReason): void {
    if (this.#options.format === 'text') {
      if (reason === 'node_lost' || reason === 'engine_unreachable') this.#out.destroy();
      else this.#out.end();
      return;
    }
    this.#writeEnd(reason, END_MESSAGES[reason]);
    if (!this.#options.isShared) this.#out.end();
  }

  /** Says in a shared answer why there is nothing of this one. */
  refuse({ code, why }: { readonly code: string; readonly why: string }): void {
    this.#writeEnd(code, why);
  }

  /** Says that so many are read at once, and this one is not among them. */
  leaveOut(most: number): void {
    this.#writeEnd('left_out', `the first ${most} replicas are read together: ask for this one by its number`);
  }

  #writeEnd(reason: string, message: string): void {
    this.#write({ type: 'end', cursor: this.#cursor ?? null, ...this.#own(), reason, message });
  }

  /** In a shared answer each frame says whose it is. */
  #own(): { readonly replica?: number } {
    return this.#options.isShared ? { replica: this.#options.replica } : {};
  }

  #write(frame: { readonly type: string; readonly cursor: string | null } & Record<string, unknown>): boolean {
    const { format } = this.#options;
    if (format === 'text' || this.#out.destroyed || this.#out.writableEnded) return true;
    const json = JSON.stringify(frame);
    if (format === 'ndjson') return this.#out.write(`${json}\n`);
    return this.#out.write(`${frame.cursor === null ? '' : `id: ${frame.cursor}\n`}data: ${json}\n\n`);
  }
}

/** `1763239738.000000042` as RFC 3339, with all nine digits. */
function toIsoTime(at: string): string {
  const [seconds = '', nanos = ''] = at.split('.');
  return `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}.${nanos}Z`;
}

/** Waits until more can be written, or nothing ever will be. Leaves no listener behind. */
function waitForDrain(out: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const settle = () => {
      out.off('drain', settle).off('close', settle);
      resolve();
    };
    out.on('drain', settle).on('close', settle);
  });
}
