import { StringDecoder } from 'node:string_decoder';

import { sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import { type LogEnd, type LogLine, type LogRequest, WHOLE_LOG } from '../../link/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { ContainerView } from '../container-view.js';
import { type ContainerStatus, EngineRefusedFault, EngineUnreachableFault } from '../engine/index.js';
import { type KeptLog, type KeptLogs, selectAfter } from './kept-logs.js';
import {
  formatPosition,
  type LogMark,
  LogReader,
  type LogStart,
  type MarkedEntry,
  parsePosition,
} from './log-reader.js';

const STREAMS_MAX = 64;
const PING_MS = 5_000;
const ENGINE_WITHIN_MS = 8_000;
/** What the engine answers of a container that it has removed, or is removing. */
const GONE = [404, 409];
/** How long until a followed log is read again: soon after output, then less and less often. */
const POLL = { firstMs: 200, capMs: 1_000 };

type LogStreamerEnv = Pick<AgentEnv, 'engine' | 'link' | 'log' | 'clock'>;

interface LogSources {
  readonly view: ContainerView;
  readonly kept: KeptLogs;
}

/** Streams the output of containers to the API servers that requested it. The output itself is never logged. */
export class LogStreamer {
  readonly #env: LogStreamerEnv;
  readonly #sources: LogSources;
  readonly #signal: AbortSignal;
  readonly #running = new Set<string>();

  constructor(env: LogStreamerEnv, sources: LogSources, signal: AbortSignal) {
    this.#env = env;
    this.#sources = sources;
    this.#signal = signal;
  }

  /** Begins a log stream. A repeated request for a running stream is ignored. */
  stream(request: LogRequest): void {
    if (this.#running.has(request.id)) return;
    if (this.#running.size >= STREAMS_MAX) return void this.#decline(request);
    this.#running.add(request.id);
    void this.#send(request, signal => this.#read(request, signal)).finally(() => this.#running.delete(request.id));
  }

  /** Sends the log of a removed container, if this node has kept it; otherwise another node may have. */
  streamKept(request: LogRequest): void {
    if (this.#running.has(request.id) || this.#running.size >= STREAMS_MAX) return;
    this.#running.add(request.id);
    void this.#sendKept(request).finally(() => this.#running.delete(request.id));
  }

  async #sendKept(request: LogRequest): Promise<void> {
    const kept = await this.#findKept(request);
    const container = request.after === undefined ? kept?.container : parsePosition(request.after)?.container;
    if (!kept || kept.container !== container) return;
    await this.#send(request, async function* () {
      yield { ...NOTHING, begin: { removedAt: kept.removedAt } };
      yield* readKept(kept, request);
      yield { ...NOTHING, end: 'complete' };
    });
  }

  async #send(request: LogRequest, read: (signal: AbortSignal) => AsyncIterable<LogLine>): Promise<void> {
    const { link, log } = this.#env;
    const end = new AbortController();
    try {
      await link.sendLogs(request, read(AbortSignal.any([this.#signal, end.signal])), this.#signal);
    } catch (thrown) {
      log.warn('could not send container logs', { replica: request.replica, error: asError(thrown) });
    } finally {
      end.abort(); // a silent container would be read without a reader
    }
  }

  async #decline(request: LogRequest): Promise<void> {
    const { link, log } = this.#env;
    const { replica } = request;
    log.warn('log stream declined: the maximum number of log streams is open', { replica, count: STREAMS_MAX });
    try {
      await link.declineLogs(request);
    } catch (thrown) {
      log.warn('could not decline a log stream', { replica, error: asError(thrown) });
    }
  }

  /** A position in the log of an earlier container is continued there, then in the log of the current one. */
  async *#read(request: LogRequest, signal: AbortSignal): AsyncGenerator<LogLine> {
    const { view } = this.#sources;
    if (!view.isListed) return yield { ...NOTHING, begin: {}, end: 'engine_unreachable' };
    const container = view.get(request.replica);
    const position = request.after === undefined ? undefined : parsePosition(request.after);
    const isEarlier = position !== undefined && position.container !== container?.id;
    const kept = isEarlier || !container ? await this.#findKept(request) : undefined;
    const earlier = kept && (!position || position.container === kept.container) ? kept : undefined;
    if (!container && !earlier) return yield { ...NOTHING, begin: {}, end: 'no_container' };

    if (container && !(await this.#isAnswering(container))) {
      return yield { ...NOTHING, begin: {}, end: 'engine_unreachable' };
    }
    yield { ...NOTHING, begin: earlier && !container ? { removedAt: earlier.removedAt } : {} };
    if (earlier) yield* readKept(earlier, request);
    else if (isEarlier) yield { ...NOTHING, gap: true };
    if (!container) return yield { ...NOTHING, end: request.follow ? 'container_gone' : 'complete' };
    const start = isEarlier ? {} : toLogStart(request, position?.mark);
    yield { ...NOTHING, end: yield* this.#readContainer(container, start, request, signal) };
  }

  async *#readContainer(
    container: ContainerStatus,
    start: LogStart,
    request: LogRequest,
    signal: AbortSignal,
  ): AsyncGenerator<LogLine, LogEnd> {
    const { engine, clock } = this.#env;
    const reader = new LogReader(options => engine.logs(container.id, options, signal), start);
    const decode = createDecoder(container.id);
    let last = start.after;
    let spokenAt = clock.monotonic();
    for (let waitMs: number = POLL.firstMs; ; waitMs = Math.min(2 * waitMs, POLL.capMs)) {
      const isGone = this.#sources.view.get(request.replica)?.id !== container.id;
      try {
        let isFirst = true;
        for await (const marked of reader.readNew()) {
          if (isFirst && reader.hasGap) yield { ...NOTHING, gap: true };
          isFirst = false;
          last = marked.mark;
          yield* decode(marked);
          waitMs = POLL.firstMs;
          spokenAt = clock.monotonic();
        }
      } catch (thrown) {
        if (thrown instanceof EngineUnreachableFault) return 'engine_unreachable';
        if (!(thrown instanceof EngineRefusedFault && GONE.includes(thrown.status))) throw thrown;
        const kept = await this.#findKept(request);
        if (kept?.container === container.id) yield* readKept(kept, request, last);
        return 'container_gone';
      }
      if (signal.aborted || !request.follow) return 'complete';
      if (isGone) return 'container_gone';
      if (clock.monotonic() - spokenAt >= PING_MS) {
        yield NOTHING;
        spokenAt = clock.monotonic();
      }
      await sleep(clock, waitMs, signal);
    }
  }

  /** Whether the engine answers now: a reader should learn at once that it does not. */
  async #isAnswering({ id }: ContainerStatus): Promise<boolean> {
    const { engine, clock } = this.#env;
    const late = new AbortController();
    const asking = engine.inspect(id).then(
      () => true,
      () => false,
    );
    const isAnswering = await Promise.race([asking, sleep(clock, ENGINE_WITHIN_MS, late.signal).then(() => false)]);
    late.abort();
    return isAnswering;
  }

  #findKept({ deploymentUid, slot }: LogRequest): Promise<KeptLog | undefined> {
    return this.#sources.kept.find(deploymentUid, slot);
  }
}

/** A line without text. */
const NOTHING: LogLine = { stream: 'stdout', text: '' };

function toLogStart({ tail, since }: LogRequest, after: LogMark | undefined): LogStart {
  if (after) return { after };
  return { ...(tail < WHOLE_LOG && { tail }), ...(since !== undefined && { since }) };
}

/** What a kept log has of a request: after its position, or after `last` where more was sent already. */
function* readKept(kept: KeptLog, request: LogRequest, last?: LogMark): Generator<LogLine> {
  const { since = '', tail } = request;
  const after = last ?? (request.after === undefined ? undefined : parsePosition(request.after)?.mark);
  const decode = createDecoder(kept.container);
  if (after) {
    const { entries, hasGap } = selectAfter(kept, after);
    if (hasGap) yield { ...NOTHING, gap: true };
    for (const marked of entries) yield* decode(marked);
    return;
  }
  const wanted = kept.entries.filter(({ entry }) => entry.at >= since);
  for (const marked of wanted.slice(Math.max(0, wanted.length - tail))) yield* decode(marked);
}

/** Decodes UTF-8 that may be split between entries. */
function createDecoder(container: string): (marked: MarkedEntry) => Generator<LogLine> {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  return function* ({ entry: { stream, at, bytes }, mark }) {
    const text = decoders[stream].write(bytes);
    if (text !== '') yield { stream, text, at, position: formatPosition({ container, mark }) };
  };
}
