import type { AdvertisedCondition } from '../../../crds/node/index.js';
import { backoffMs, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import { type Heartbeat, LinkRefusedFault, NODE_HELD } from '../../link/index.js';
import type { AgentEnv, AgentOptions } from '../agent-env.js';
import type { EngineMonitor } from './engine-monitor.js';
import type { ContainerView } from '../container-view.js';
import { describeHeld, type HeldParts } from './describe-held.js';
import { describeRemoved } from './describe-removed.js';
import type { NodeHold } from '../membership/node-hold.js';
import type { NodeVolumes } from '../node-volumes/node-volumes.js';
import type { RestoreGate } from '../membership/restore-gate.js';
import type { StreamRestarter } from './stream-restarter.js';
import type { StateFolder } from '../state-folder.js';
import { UsageSampler } from './usage-sampler.js';

/** How long to wait after a heartbeat that failed: an agent that waits for the lease of another asks soon again. */
const AGAIN = {
  away: { firstMs: 1_000, capMs: 1_000 },
  held: { firstMs: 1_000, capMs: 5_000 },
  refused: { firstMs: 1_000, capMs: 30_000 },
};

/** How long a heartbeat waits for what an agent that holds reads of its engine and its disk: either may hang. */
const HELD_MS = 2_000;

interface HeartbeatParts extends HeldParts {
  readonly hold: NodeHold;
  readonly gate: RestoreGate;
  readonly feed: Pick<StreamRestarter, 'restart'>;
  readonly volumes: Pick<NodeVolumes, 'fence' | 'countUsed' | 'compare' | 'recordContact'>;
  readonly monitor: EngineMonitor;
  readonly state: Pick<StateFolder, 'conditions'>;
  readonly view: ContainerView;
  readonly call: <T>(call: () => Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
}

/** Sends heartbeats until aborted, with what containers use. The first that is accepted lets the agent act. */
export async function sendHeartbeats(env: AgentEnv, options: AgentOptions, parts: HeartbeatParts): Promise<void> {
  const sampler = new UsageSampler(env, parts.view);
  await Promise.all([
    sampler.run(options.usageMs, parts.signal),
    env.room?.run(() => parts.volumes.countUsed(), parts.signal),
    beat(env, options, parts, sampler),
  ]);
}

async function beat(env: AgentEnv, options: AgentOptions, parts: HeartbeatParts, sampler: UsageSampler): Promise<void> {
  const { clock, engine, random, log } = env;
  const { hold, gate, monitor, call, signal } = parts;
  const { fence } = parts.volumes;
  const { labels = {}, version, controlPlane = false, heartbeatMs = 5_000 } = options;
  const warned = new Set<string>();
  let held: Pick<Heartbeat, 'setBack'> = {};
  for (let failures = 0; !signal.aborted; ) {
    let waitMs = heartbeatMs;
    try {
      const { capacity: read, ...known } = await monitor.load();
      const capacity = env.room ? { ...read, disk: env.room.bytes } : read;
      const found = [...engine.conditions(), monitor.describe(), ...parts.state.conditions];
      warnAboutConditions(found, warned, env);
      held = await describeSoon(env, parts, held);
      if (gate.needsStream) parts.feed.restart();
      const conditions = [...found, ...gate.conditions];
      const { containersSeenMsAgo } = monitor;
      const usage = sampler.unsent;
      const { address: volumeAddress } = env.peers ?? {};
      const { lacks } = engine;
      const sometimes = {
        ...(usage && { usage }),
        ...(volumeAddress !== undefined && { volumeAddress }),
        ...(env.volumes && { volumeDriver: env.volumes.name }),
        ...(lacks && { lacks }),
        ...describeRemoved(env.volumes?.removed?.reported),
        ...held,
      };
      const facts = { agentVersion: version, controlPlane, conditions, containersSeenMsAgo, ...sometimes };
      const sentAt = fence.now();
      const beat = { labels, capacity, ...known, ...facts };
      const { failedAfterMs, wasAbsent, store } = await call(() => env.link.heartbeat(beat));
      sampler.markSent(usage);
      gate.noteReply(store);
      hold.confirm();
      parts.volumes.recordContact(sentAt);
      if (wasAbsent) fence.close();
      waitMs = Math.min(heartbeatMs, failedAfterMs / 4);
      failures = 0;
    } catch (thrown) {
      failures++;
      log.warn(
        'heartbeat failed, retrying: the error says whether the server cannot be reached or refuses this agent',
        { attempt: failures, error: asError(thrown) },
      );
      waitMs = backoffMs(failures, AGAIN[toKind(thrown)], random);
    }
    await sleep(clock, waitMs, signal);
  }
}

/** What would become of the node while its agent holds: as it was `last` reported where that takes long, nothing where it cannot be seen. */
async function describeSoon(
  { clock, log }: AgentEnv,
  parts: HeartbeatParts,
  last: Pick<Heartbeat, 'setBack'>,
): Promise<Pick<Heartbeat, 'setBack'>> {
  if (!parts.gate.isHeld) return {};
  const described = describeHeld(parts).catch((thrown: unknown) => {
    log.warn('what a declared restore would change here is not known yet, retrying', { error: asError(thrown) });
    return {};
  });
  return Promise.race([described, sleep(clock, HELD_MS, parts.signal).then(() => last)]);
}

/** An unreachable control plane is retried soon; one that refuses is retried less and less often. */
function toKind(thrown: unknown): keyof typeof AGAIN {
  if (!(thrown instanceof LinkRefusedFault) || thrown.retriable) return 'away';
  return thrown.code === NODE_HELD ? 'held' : 'refused';
}

/** Warns once of each condition that does not hold. */
function warnAboutConditions(conditions: readonly AdvertisedCondition[], warned: Set<string>, { log }: AgentEnv): void {
  for (const { type, status, message } of conditions) {
    if (status === 'True') warned.delete(type);
    else if (!warned.has(type)) {
      warned.add(type);
      log.warn(message, { code: type });
    }
  }
}
