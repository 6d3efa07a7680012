import type { ServerResponse } from 'node:http';

import type { Clock } from '../../pkg/clock/index.js';
import type { AgentDispatcher, AgentIdentity, AssignmentLine } from '../../pkg/link/index.js';
import type { Caller } from '../http/route.js';
import { type OpenStreams, repeatEvery } from './open-streams.js';

const PING_MS = 5_000;
const PING: AssignmentLine = { type: 'ping' };
const PING_BYTES = encodeLine(PING);

/** More than this unread, and the agent is cut: it comes back and begins with a snapshot. */
const UNREAD_BYTES = 8 * 1024 * 1024;

export interface AssignmentStreamsEnv {
  readonly dispatcher: AgentDispatcher;
  readonly streams: OpenStreams;
  readonly clock: Clock;
}

/** The open streams of assignments as HTTP carries them, kept warm by one timer. */
export class AssignmentStreams {
  readonly #env: AssignmentStreamsEnv;
  readonly #open = new Set<ServerResponse>();
  readonly #stop: () => void;

  constructor(env: AssignmentStreamsEnv) {
    this.#env = env;
    this.#stop = repeatEvery(env.clock, PING_MS, () => {
      for (const out of this.#open) out.write(PING_BYTES);
    });
  }

  /** Sends a node's assignments until one side leaves. */
  open(node: AgentIdentity, caller: Caller, out: ServerResponse): void {
    this.#open.add(out);
    const onLine = (line: AssignmentLine) => {
      if (out.writableLength > UNREAD_BYTES) out.destroy();
      else out.write(encodeLine(line));
    };
    const end = () => {
      leave();
      out.end();
    };
    const unsubscribe = this.#env.dispatcher.assignments(node, onLine, end);
    const leave = () => {
      this.#open.delete(out);
      unsubscribe();
      forget();
    };
    // What has ended takes no more lines, though an agent that does not read can keep it from closing.
    const forget = this.#env.streams.add('assignments', caller, end);
    out.once('close', leave);
  }

  close(): void {
    this.#stop();
    for (const out of this.#open) out.end();
  }
}

function encodeLine(line: AssignmentLine): Buffer {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}
