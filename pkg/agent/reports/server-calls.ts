import { type Report, withoutDetails } from '../../../crds/report/index.js';
import type { Clock } from '../../clock/index.js';
import { type AgentLink, type Heartbeat, type HeartbeatReply, LinkRefusedFault } from '../../link/index.js';

const REDIAL_MS = 1_000;

/** Restarts the assignment stream on request, so that it begins with a fresh snapshot. */
export class Redial {
  readonly #clock: Clock;
  readonly #end: AbortSignal;
  #current = new AbortController();
  #last = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, end: AbortSignal) {
    this.#clock = clock;
    this.#end = end;
  }

  /** The signal of the next stream: aborted by `again`, or when the agent stops. */
  signal(): AbortSignal {
    this.#current = new AbortController();
    return AbortSignal.any([this.#end, this.#current.signal]);
  }

  /** Ends the current stream, at most once a second: a snapshot without the expected ticket must not cause a loop. */
  again(): void {
    const now = this.#clock.monotonic();
    if (now - this.#last < REDIAL_MS) return;
    this.#last = now;
    this.#current.abort();
  }
}

/** Whether a server of an earlier release refused a field that it does not know. */
function isFieldUnknown(thrown: unknown): boolean {
  return thrown instanceof LinkRefusedFault && thrown.code === 'field_unknown';
}

/** Sends a heartbeat; without what is new to a server that refuses it, for a heartbeat must not be missed. */
export async function sendHeartbeat(link: AgentLink, beat: Heartbeat): Promise<HeartbeatReply> {
  try {
    return await link.heartbeat(beat);
  } catch (thrown) {
    if (!isFieldUnknown(thrown)) throw thrown;
    const { conditions: _conditions, containersSeenMsAgo: _seen, engine: _engine, ...older } = beat;
    const { usage: _usage, volumeAddress: _address, volumeDriver: _driver, setBack: _older, ...others } = older;
    const { removedVolumes: _removed, ...known } = others;
    return await link.heartbeat(known);
  }
}

/** Sends reports; without their details to a server that refuses them. */
export async function sendReports(link: AgentLink, reports: readonly Report[]): Promise<void> {
  try {
    await link.report({ reports });
  } catch (thrown) {
    if (!isFieldUnknown(thrown)) throw thrown;
    await link.report({ reports: reports.map(withoutDetails) });
  }
}
