import { setMaxListeners } from 'node:events';

import type { SeenNetwork } from '../../crds/network/index.js';
import { backoffMs, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import { type AssignmentLine, LinkRefusedFault, NODE_HELD, type NodeIdentity } from '../link/index.js';
import { done, type ReconcileResult, WorkQueue } from '../reconcile/index.js';
import type { AgentEnv, AgentOptions } from './agent-env.js';
import { Assignments } from './assignments.js';
import { Attempts } from './containers/attempts.js';
import { ContainerView } from './container-view.js';
import type { ContainerStatus, OnEngineEvent } from './engine/index.js';
import { DiskLimit } from './containers/disk-limit.js';
import { EngineMonitor } from './reports/engine-monitor.js';
import { sendHeartbeats } from './reports/heartbeats.js';
import { KeptLogs, pruneKeptLogs } from './logs/kept-logs.js';
import { LogStreamer } from './logs/log-streamer.js';
import { Membership } from './membership/membership.js';
import { NodeHold } from './membership/node-hold.js';
import { NodeNetworks } from './containers/networks.js';
import { type FindUser, NodeVolumes } from './node-volumes/node-volumes.js';
import { clearFormerNodes, keepRemovingOrphans, listLeftovers, stopDoubles } from './containers/orphans.js';
import { Outbox } from './reports/outbox.js';
import { PulledImages } from './images/pulled-images.js';
import { StreamRestarter } from './reports/stream-restarter.js';
import { ReplicaWorker } from './containers/replica-worker.js';
import { RestoreGate } from './membership/restore-gate.js';
import { StartSpans } from './containers/start-spans.js';
import { StartHistory } from './containers/start-history.js';
import { StateFolder } from './state-folder.js';
import { findWriter } from './node-volumes/volume-writers.js';

const EVERYTHING = 'everything';
const STOP_GRACE_MS = 5_000;
const RESEND_MS = 300_000;
const PRUNE = { firstMs: 5_000, capMs: 300_000 };
const RECONNECT = { firstMs: 200, capMs: 5_000 };
const WORK_BACKOFF = { firstMs: 250, capMs: 60_000 };
/**
 * For how long another agent must have had the node, without a break, before this one stops what the other runs too: six leases,
 * so that an agent that is refused only until a lease ends never does.
 */
const DOUBLES_AFTER_MS = 180_000;
const DOUBLES_MS = 30_000;
const DISK_MS = 60_000;
/** Containers are listed then though it is not known whether the control plane may be obeyed. */
const JUDGED_WITHIN_MS = 10_000;
/** A server that does not answer must not keep an agent from ending. */
const WITHDRAW_MS = 3_000;

interface Run {
  readonly node: NodeIdentity;
  readonly hold: NodeHold;
  /** Through which everything passes that is assigned. */
  readonly gate: RestoreGate;
  readonly assignments: Assignments;
  readonly view: ContainerView;
  readonly monitor: EngineMonitor;
  readonly outbox: Outbox;
  readonly queue: WorkQueue;
  /** Lists all containers: one list at a time, retried until the engine responds. */
  readonly rounds: WorkQueue;
  readonly streamer: LogStreamer;
  readonly kept: KeptLogs;
  readonly diskLimit: DiskLimit;
  readonly networks: NodeNetworks;
  readonly volumes: NodeVolumes;
  /** Removes kept logs of deployments that are gone. */
  readonly pruning: WorkQueue;
  /** Restarts the assignment stream, to get a fresh snapshot. */
  readonly feed: StreamRestarter;
  readonly signal: AbortSignal;
}

/**
 * A node's agent: it receives assignments, drives the engine and reports the state of its containers.
 *
 * Heartbeats, assignments, engine events and reports run independently: a slow pull delays no heartbeat, and an
 * unreachable control plane stops no container. Stopping the agent stops none either: the next one adopts them. It acts only
 * while the control plane accepts it as the one agent of its node.
 */
export class Agent {
  readonly #env: AgentEnv & { readonly disk: StateFolder };
  readonly #options: AgentOptions;
  readonly #membership: Membership;
  #hold: NodeHold | undefined;

  constructor(env: AgentEnv, options: AgentOptions) {
    this.#env = { ...env, disk: new StateFolder(env.disk, env.log) };
    this.#options = options;
    this.#membership = new Membership(this.#env, options, () => this.#hold?.header ?? '');
  }

  /** Runs until aborted. Resolves when all its work has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const hold = await NodeHold.begin(this.#env);
    this.#hold = hold;
    for (;;) {
      const node = await this.#membership.join(signal);
      if (!node) break;
      await this.#serve(node, hold, AbortSignal.any([signal, this.#membership.left]));
    }
    await hold.end();
  }

  async #serve(node: NodeIdentity, hold: NodeHold, signal: AbortSignal): Promise<void> {
    hold.reset();
    setMaxListeners(0, signal); // everything that an agent does at times listens to it
    const run = await this.#prepare(node, hold, signal);
    await Promise.all([
      sendHeartbeats(this.#env, this.#options, {
        ...run,
        state: this.#env.disk,
        call: call => this.#call(call),
        findLeftovers: () => this.#findLeftovers(node),
      }),
      this.#membership.keepTokenFresh(signal),
      this.#followAssignments(run),
      this.#watchEngine(run),
      run.monitor.run(signal),
      this.#every(this.#options.relistMs ?? 30_000, signal, () => run.rounds.add(EVERYTHING)),
      keepRemovingOrphans(run, ids => this.#findGoneNodes(run, ids), this.#env, this.#options),
      run.volumes.recover(hold, signal),
      this.#every(DISK_MS, signal, () => run.volumes.check()),
      this.#every(DISK_MS, signal, () => this.#env.disk.probe()),
      this.#every(DISK_MS, signal, () => run.volumes.ageRemoved(DISK_MS, run.gate)),
      run.volumes.replicate(run, signal),
      this.#every(DOUBLES_MS, signal, () => this.#stopDoubles(run)),
      run.diskLimit.limit === undefined || this.#every(DISK_MS, signal, () => this.#measureDisk(run)),
      this.#every(RESEND_MS, signal, () => (hold.isHeld ? run.outbox.resendAll() : undefined)),
    ]);
    await Promise.race([this.#withdraw(run), sleep(this.#env.clock, WITHDRAW_MS)]);
    const queues = [run.queue, run.rounds, run.pruning, run.networks.queue, run.volumes.queue];
    await Promise.all(queues.map(queue => queue.stop(STOP_GRACE_MS)));
  }

  async #withdraw({ volumes }: Run): Promise<void> {
    try {
      await volumes.withdraw();
    } catch (thrown) {
      this.#env.log.warn(
        'the control plane was not notified that this agent ends: what writes to replicated volumes is killed before a copy takes over',
        { error: asError(thrown) },
      );
    }
  }

  async #prepare(node: NodeIdentity, hold: NodeHold, signal: AbortSignal): Promise<Run> {
    const { clock, random, link, engine, disk } = this.#env;
    const assignments = new Assignments();
    const gate = await RestoreGate.load(this.#env, node.tenant);
    const view = new ContainerView(engine, node.id);
    const monitor = new EngineMonitor(this.#env, this.#options);
    const outbox = new Outbox(this.#env, reports => this.#call(() => link.report({ reports })), signal);
    const history = await StartHistory.load(clock, disk);
    const kept = await KeptLogs.load(this.#env, node.id);
    const diskLimit = new DiskLimit(this.#env, node.id, this.#options.containerDiskBytes);
    const feed = new StreamRestarter(clock, signal);
    const report = (seen: readonly SeenNetwork[]) => this.#call(() => link.reportNetworks(seen));
    const networks = new NodeNetworks(this.#env, { node, view, report });
    const find: FindUser = (id, who) => findWriter(id, { view, assignments, engine }, who);
    const volumes = new NodeVolumes(this.#env, seen => this.#call(() => link.reportVolumes(seen)), find);
    const worker = new ReplicaWorker(this.#env, this.#options, {
      node,
      assignments,
      view,
      history,
      outbox,
      kept,
      attempts: await Attempts.load(this.#env, uid => assignments.wanted(uid)),
      diskLimit,
      networks,
      volumes,
      images: await PulledImages.load(disk, node.id),
      requestLogin: request => this.#call(() => link.pullCredential(request)),
      requestSecrets: request => this.#call(() => link.environment(request)),
      requestTickets: () => feed.restart(),
      spans: new StartSpans(this.#env),
      runAside: act => queue.runAside(act),
    });
    const { concurrency = 8 } = this.#options;
    const work = (uid: string) => worker.work(uid).finally(() => volumes.writers.release(uid));
    const queue = new WorkQueue(work, { clock, random, concurrency, backoff: WORK_BACKOFF });
    const streamer = new LogStreamer(this.#env, { view, kept }, signal);
    const findGone = (uids: readonly string[]) => this.#call(() => link.findGoneDeployments(uids));
    const prune = (uids: readonly string[]) => gate.findGone(uids, findGone, signal);
    const pruning = new WorkQueue(() => pruneKeptLogs({ kept, assignments }, prune), {
      clock,
      random,
      backoff: PRUNE,
    });
    pruning.add(EVERYTHING);
    const relist = () => this.#relistContainers({ assignments, gate, view, queue, monitor, networks, signal });
    const rounds = new WorkQueue(relist, { clock, random, backoff: RECONNECT });
    const queues = { queue, rounds, pruning, networks, volumes };
    return { node, hold, gate, assignments, view, monitor, outbox, ...queues, streamer, kept, diskLimit, feed, signal };
  }

  /** A call with the node's credentials. Notes when it is refused because another agent has the node. */
  async #call<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await this.#membership.authorised(call);
    } catch (thrown) {
      if (thrown instanceof LinkRefusedFault && thrown.code === NODE_HELD) this.#hold?.refuse();
      throw thrown;
    }
  }

  async #followAssignments(run: Run): Promise<void> {
    const { link, clock, random, log } = this.#env;
    for (let failures = 0; !run.signal.aborted; ) {
      await run.hold.untilHeld(run.signal);
      const { lost } = run.hold;
      const onLine = (line: AssignmentLine) => {
        failures = 0;
        if (!lost.aborted && run.gate.admits(line)) this.#onLine(run, line);
      };
      // What was assigned counts no more: until it is assigned again, nothing is started and nothing removed.
      const onLost = () => {
        for (const each of [run.assignments, run.networks, run.volumes]) each.forget();
      };
      lost.addEventListener('abort', onLost, { once: true });
      run.gate.expectStream();
      try {
        await this.#call(() => link.assignments(onLine, AbortSignal.any([run.feed.signal(), lost])));
      } catch (thrown) {
        failures++;
        log.warn('assignment stream broke, reconnecting', { attempt: failures, error: asError(thrown) });
        await sleep(clock, backoffMs(failures, RECONNECT, random), run.signal);
      } finally {
        lost.removeEventListener('abort', onLost);
      }
    }
  }

  #onLine({ assignments, networks, volumes, queue, view, outbox, streamer, pruning }: Run, line: AssignmentLine): void {
    switch (line.type) {
      case 'snapshot':
        assignments.setPolicy(line.policy ?? {});
        assignments.replaceAll(line.replicas, line);
        networks.assign(line.networks, true);
        volumes.assign(line.volumes, true);
        outbox.resendAll();
        for (const uid of new Set([...assignments.uids, ...view.uids])) queue.add(uid);
        return;
      case 'set':
        assignments.set(line.replica, line.ticket, line.pullTicket);
        return queue.add(line.replica.uid);
      case 'drop':
        assignments.drop(line.uid);
        pruning.add(EVERYTHING);
        return queue.add(line.uid);
      case 'networks':
        return networks.assign(line.networks);
      case 'volumes':
        return volumes.assign(line.volumes);
      case 'logs':
        return streamer.stream(line.request);
      case 'kept-logs':
        return streamer.streamKept(line.request);
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

  async #relistContainers(
    run: Pick<Run, 'assignments' | 'gate' | 'view' | 'queue' | 'monitor' | 'networks' | 'signal'>,
  ): Promise<ReconcileResult> {
    const { assignments, view, queue } = run;
    await this.#awaitJudgement(run);
    const requestedAt = this.#env.clock.monotonic();
    try {
      if (run.gate.isOpen) await clearFormerNodes(this.#membership.formerNodeIds, this.#env, this.#options);
      await view.relist();
    } catch (thrown) {
      this.#env.log.warn('could not list containers, retrying: check the container engine', { error: asError(thrown) });
      throw thrown; // a failed list means unknown, not "no containers"
    }
    run.monitor.noteList(requestedAt);
    run.networks.check();
    assignments.witness(view.containers.map(({ owner }) => owner));
    for (const uid of new Set([...assignments.uids, ...view.uids])) queue.add(uid);
    return done;
  }

  /** A store that was set back may have forgotten this machine, so that it was enrolled again: then what it was before is not cleared away. */
  async #awaitJudgement({ gate, signal }: Pick<Run, 'gate' | 'signal'>): Promise<void> {
    if (this.#membership.formerNodeIds.length === 0) return;
    await Promise.race([gate.untilJudged(signal), sleep(this.#env.clock, JUDGED_WITHIN_MS, signal)]);
  }

  #findGoneNodes({ gate, signal }: Run, ids: readonly string[]): Promise<readonly string[]> {
    return gate.findGone(ids, some => this.#call(() => this.#env.link.findGoneNodes(some)), signal);
  }

  /** What goes with the first assignments that are obeyed. A store that was set back calls nothing gone until that is declared. */
  #findLeftovers(node: NodeIdentity): Promise<readonly ContainerStatus[]> {
    const findGone = (ids: readonly string[]) => this.#call(() => this.#env.link.findGoneNodes(ids));
    return listLeftovers(node, { former: this.#membership.formerNodeIds, findGone }, this.#env);
  }

  /** Has the containers looked at that have written too much. */
  async #measureDisk({ diskLimit, view, queue }: Run): Promise<void> {
    if (!(await diskLimit.measure())) return;
    const over = view.containers.filter(container => diskLimit.findExcess(container) !== undefined);
    for (const { owner } of over) queue.add(owner.replica);
  }

  /** Stops what the agent that has the node runs too. Refused by mistake, an agent keeps every only copy. */
  async #stopDoubles({ node, hold, gate }: Run): Promise<void> {
    if (hold.refusedForMs < DOUBLES_AFTER_MS || gate.isHeld) return;
    const { link, log } = this.#env;
    try {
      await stopDoubles(node, containers => this.#call(() => link.findDoubles(containers)), this.#env, this.#options);
    } catch (thrown) {
      log.warn('could not look for containers that run elsewhere too, retrying', { error: asError(thrown) });
    }
  }

  async #every(ms: number, signal: AbortSignal, act: () => void | Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#env.clock, ms, signal);
      if (!signal.aborted) await act();
    }
  }
}
