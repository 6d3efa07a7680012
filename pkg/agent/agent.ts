import { backoffMs, type Clock, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import { type AssignmentLine, type Heartbeat, LinkRefusedFault, type NodeIdentity } from '../link/index.js';
import { done, type ReconcileResult, WorkQueue } from '../reconcile/index.js';
import { type AgentEnv, type AgentOptions, readCapacity } from './agent-env.js';
import { Assignments } from './assignments.js';
import { ContainerView } from './container-view.js';
import type { EngineCondition, OnEngineEvent } from './engine/index.js';
import { LogStreamer } from './log-streamer.js';
import { Membership } from './membership.js';
import { removeContainers, removeOrphans } from './orphans.js';
import { Outbox } from './outbox.js';
import { ReplicaWorker } from './replica-worker.js';
import { StartHistory } from './start-history.js';

const EVERYTHING = 'everything';
/** The former node identities whose images have been removed. */
const PRUNED_FILE = 'pruned.json';
const STOP_GRACE_MS = 5_000;
const RESEND_MS = 300_000;
const ORPHANS_MS = 300_000;
const REDIAL_MS = 1_000;
const RECONNECT = { firstMs: 200, capMs: 5_000 };
const WORK_BACKOFF = { firstMs: 250, capMs: 60_000 };
/** An unreachable control plane is retried soon; one that refuses is retried less and less often. */
const BEAT_AGAIN = { away: { firstMs: 1_000, capMs: 1_000 }, refused: { firstMs: 1_000, capMs: 30_000 } };

interface Run {
  readonly node: NodeIdentity;
  readonly assignments: Assignments;
  readonly view: ContainerView;
  /** When the containers were last listed, by the monotonic clock. */
  readonly seen: { at: number };
  readonly outbox: Outbox;
  readonly queue: WorkQueue;
  /** Lists all containers: one list at a time, retried until the engine responds. */
  readonly rounds: WorkQueue;
  readonly streamer: LogStreamer;
  /** Restarts the assignment stream, to get a fresh snapshot. */
  readonly dial: Redial;
  readonly signal: AbortSignal;
}

/**
 * A node's agent: it receives assignments, drives the engine and reports the state of its containers.
 *
 * Heartbeats, assignments, engine events and reports run independently: a slow pull delays no heartbeat, and an
 * unreachable control plane stops no container. Stopping the agent stops none either: the next one adopts them.
 */
export class Agent {
  readonly #env: AgentEnv;
  readonly #options: AgentOptions;
  readonly #membership: Membership;
  readonly #warned = new Set<string>();

  constructor(env: AgentEnv, options: AgentOptions) {
    this.#env = env;
    this.#options = options;
    this.#membership = new Membership(env, options);
  }

  /** Runs until aborted. Resolves when all its work has ended. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const node = await this.#membership.join(signal);
      if (!node) return;
      await this.#serve(node, AbortSignal.any([signal, this.#membership.left]));
    }
  }

  async #serve(node: NodeIdentity, signal: AbortSignal): Promise<void> {
    const run = await this.#prepare(node, signal);
    await Promise.all([
      this.#heartbeats(run),
      this.#membership.keepTokenFresh(signal),
      this.#followAssignments(run),
      this.#watchEngine(run),
      this.#every(this.#options.relistMs ?? 30_000, signal, () => run.rounds.add(EVERYTHING)),
      this.#removeOrphans(node, signal),
      this.#every(RESEND_MS, signal, () => run.outbox.resendAll()),
    ]);
    await Promise.all([run.queue.stop(STOP_GRACE_MS), run.rounds.stop(STOP_GRACE_MS)]);
  }

  async #prepare(node: NodeIdentity, signal: AbortSignal): Promise<Run> {
    const { clock, random, link, engine, disk } = this.#env;
    const assignments = new Assignments();
    const view = new ContainerView(engine, node.id);
    const seen = { at: clock.monotonic() };
    const outbox = new Outbox(
      this.#env,
      reports => this.#membership.authorised(() => link.report({ reports })),
      signal,
    );
    const history = await StartHistory.load(clock, disk);
    const dial = new Redial(clock, signal);
    const worker = new ReplicaWorker(this.#env, this.#options, {
      node,
      assignments,
      view,
      history,
      outbox,
      requestSecrets: request => this.#membership.authorised(() => link.environment(request)),
      requestTickets: () => dial.again(),
    });
    const { concurrency = 8 } = this.#options;
    const queue = new WorkQueue(uid => worker.work(uid), { clock, random, concurrency, backoff: WORK_BACKOFF });
    const streamer = new LogStreamer(this.#env, view, signal);
    const relist = () => this.#relistContainers({ assignments, view, queue, seen });
    const rounds = new WorkQueue(relist, { clock, random, backoff: RECONNECT });
    return { node, assignments, view, seen, outbox, queue, rounds, streamer, dial, signal };
  }

  async #heartbeats({ signal, seen }: Run): Promise<void> {
    const { clock, engine, random, log } = this.#env;
    const { labels = {}, version, controlPlane = false, heartbeatMs = 5_000 } = this.#options;
    let known: Awaited<ReturnType<typeof readCapacity>> | undefined;
    for (let failures = 0; !signal.aborted; ) {
      let waitMs = heartbeatMs;
      try {
        known ??= await readCapacity(engine, this.#options);
        const conditions = engine.conditions();
        this.#warnOf(conditions);
        const containersSeenMsAgo = Math.max(0, Math.round(clock.monotonic() - seen.at));
        const advertised = { labels, capacity: known, agentVersion: version, controlPlane };
        const beat = { ...advertised, conditions, containersSeenMsAgo };
        const { failedAfterMs } = await this.#membership.authorised(() => sendHeartbeat(this.#env, beat));
        waitMs = Math.min(heartbeatMs, failedAfterMs / 4);
        failures = 0;
      } catch (thrown) {
        failures++;
        log.warn('heartbeat failed', { attempt: failures, error: asError(thrown) });
        const isRefused = thrown instanceof LinkRefusedFault && !thrown.retriable;
        waitMs = backoffMs(failures, isRefused ? BEAT_AGAIN.refused : BEAT_AGAIN.away, random);
      }
      await sleep(clock, waitMs, signal);
    }
  }

  /** Warns once of each condition that does not hold. */
  #warnOf(conditions: readonly EngineCondition[]): void {
    for (const { type, status, message } of conditions) {
      if (status === 'True') this.#warned.delete(type);
      else if (!this.#warned.has(type)) {
        this.#warned.add(type);
        this.#env.log.warn(message, { code: type });
      }
    }
  }

  async #followAssignments(run: Run): Promise<void> {
    const { link, clock, random, log } = this.#env;
    for (let failures = 0; !run.signal.aborted; ) {
      const onLine = (line: AssignmentLine) => {
        failures = 0;
        this.#onLine(run, line);
      };
      try {
        await this.#membership.authorised(() => link.assignments(onLine, run.dial.signal()));
      } catch (thrown) {
        failures++;
        log.warn('assignment stream broke, reconnecting', { attempt: failures, error: asError(thrown) });
        await sleep(clock, backoffMs(failures, RECONNECT, random), run.signal);
      }
    }
  }

  #onLine({ assignments, queue, view, outbox, streamer }: Run, line: AssignmentLine): void {
    switch (line.type) {
      case 'snapshot':
        assignments.setPolicy(line.policy ?? {});
        assignments.replaceAll(line.replicas, line.tickets, line.restoreEpoch);
        outbox.resendAll();
        for (const uid of new Set([...assignments.uids, ...view.uids])) queue.add(uid);
        return;
      case 'set':
        assignments.set(line.replica, line.ticket);
        return queue.add(line.replica.uid);
      case 'drop':
        assignments.drop(line.uid);
        return queue.add(line.uid);
      case 'logs':
        return streamer.stream(line.request);
      case 'ping':
        return;
    }
  }

  /** Follows the engine's events. `everything` means that events may have been missed, so all containers are listed. */
  async #watchEngine(run: Run): Promise<void> {
    const onEvent: OnEngineEvent = event => {
      if (event === 'everything') return run.rounds.add(EVERYTHING);
      run.view.markChanged(event.replica);
      run.queue.add(event.replica);
    };
    await this.#env.engine.events(run.node.id, onEvent, run.signal);
  }

  async #relistContainers(run: Pick<Run, 'assignments' | 'view' | 'queue' | 'seen'>): Promise<ReconcileResult> {
    const { assignments, view, queue } = run;
    const requestedAt = this.#env.clock.monotonic();
    try {
      await this.#clearFormerNodes();
      await view.relist();
    } catch (thrown) {
      this.#env.log.warn('could not list containers, retrying', { error: asError(thrown) });
      throw thrown; // a failed list means unknown, not "no containers"
    }
    run.seen.at = requestedAt;
    assignments.witness(view.containers.map(({ owner }) => owner));
    for (const uid of new Set([...assignments.uids, ...view.uids])) queue.add(uid);
    return done;
  }

  /** Removes what the machine's former owners left: containers each time, images once. */
  async #clearFormerNodes(): Promise<void> {
    const { engine, disk, log } = this.#env;
    const { formerNodeIds: former } = this.#membership;
    if (former.length === 0) return;
    await removeContainers(former, this.#env, this.#options);
    const pruned = JSON.parse((await disk.read(PRUNED_FILE)) ?? '[]') as readonly string[];
    if (former.every(id => pruned.includes(id))) return;

    await engine.pruneImages();
    await disk.write(PRUNED_FILE, JSON.stringify(former));
    log.info('removed the images of former node identities');
  }

  /** Removes what deleted nodes of the tenant have left on the engine: at once, then every few minutes. */
  async #removeOrphans(node: NodeIdentity, signal: AbortSignal): Promise<void> {
    const { link, clock, random, log } = this.#env;
    const findGone = (ids: readonly string[]) => this.#membership.authorised(() => link.findGoneNodes(ids));
    for (let failures = 0; !signal.aborted; ) {
      let waitMs = ORPHANS_MS;
      try {
        await removeOrphans(node, findGone, this.#env, this.#options);
        failures = 0;
      } catch (thrown) {
        failures++;
        log.warn('could not look for containers of deleted nodes, retrying', {
          attempt: failures,
          error: asError(thrown),
        });
        waitMs = backoffMs(failures, WORK_BACKOFF, random);
      }
      await sleep(clock, waitMs, signal);
    }
  }

  async #every(ms: number, signal: AbortSignal, act: () => void): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#env.clock, ms, signal);
      if (!signal.aborted) act();
    }
  }
}

/** A server of an earlier release refuses what it does not know: then without what is new, for a heartbeat must not be missed. */
async function sendHeartbeat({ link }: AgentEnv, beat: Heartbeat) {
  try {
    return await link.heartbeat(beat);
  } catch (thrown) {
    if (!(thrown instanceof LinkRefusedFault && thrown.code === 'field_unknown')) throw thrown;
    const { conditions: _, containersSeenMsAgo: __, ...known } = beat;
    return await link.heartbeat(known);
  }
}

/** Restarts the assignment stream on request, so that it begins with a fresh snapshot. */
class Redial {
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
