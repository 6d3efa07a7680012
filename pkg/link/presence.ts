import { isDeepStrictEqual } from 'node:util';

import { keys } from '../../crds/keys/index.js';
import { CONTAINERS_SEEN_WITHIN_MS, isEngineDown, type NodePresence, type StoredNode } from '../../crds/node/index.js';
import type { EventDraft } from '../events/index.js';
import { Fault } from '../fault/index.js';
import {
  ConflictFault,
  encode,
  type Entry,
  findRecordFault,
  type Guard,
  LeaseGoneFault,
  type Put,
  value,
} from '../store/index.js';
import type { Heartbeat, NodeIdentity } from './agent-link.js';
import { type AgentRun, judgeRun } from './agent-run.js';
import type { DispatcherEnv } from './dispatcher-env.js';

const ATTEMPTS = 5;

/** How often the time of a refusal is written, and after how long without one the other agent counts as gone. */
const RIVAL_NOTED_EVERY_MS = 60_000;
const RIVAL_GONE_AFTER_MS = 180_000;

/** A node as one run of its agent speaks for it. */
export interface AgentIdentity extends NodeIdentity {
  readonly run: AgentRun;
}

/** Another agent with the same identity has the node. Nothing was done. */
export class NodeHeldFault extends Fault {
  readonly retriable = true;

  constructor({ name }: NodeIdentity) {
    super(`another agent sends the heartbeats of node ${name}`);
  }
}

/** The presence of this very node, as an entry of the store. */
function readPresence(entry: Entry | undefined, node: NodeIdentity): NodePresence | undefined {
  const presence = entry && findRecordFault(entry) === undefined ? value<NodePresence>(entry) : undefined;
  return presence?.id === node.id ? presence : undefined;
}

/** Whether another run has the node, as far as the cache knows. */
export function isHeldByOther({ cache }: Pick<DispatcherEnv, 'cache'>, node: AgentIdentity): boolean {
  const presence = readPresence(cache.get(keys.alive(node.tenant, node.name)), node);
  return judgeRun(presence, node.run) === 'refused';
}

/** Throws `NodeHeldFault` when another run has the node. A doubt is settled by a cache that holds every write before this call. */
export async function demandHolder(env: DispatcherEnv, node: AgentIdentity): Promise<void> {
  if (!isHeldByOther(env, node)) return;
  await env.cache.barrier();
  if (isHeldByOther(env, node)) throw new NodeHeldFault(node);
}

/**
 * Renews the lease of `alive/<tenant>/<node>`, or throws `NodeHeldFault`.
 *
 * The record names its lease, so every server can renew it. Each run of an agent has a lease of its own, which ends when
 * another one takes the node over: a server whose cache is behind cannot renew it for a run that no longer has the node.
 * Answers whether the node was absent: its lease had ended.
 */
export async function renewPresence(
  env: DispatcherEnv,
  node: AgentIdentity,
  { containersSeenMsAgo = 0, conditions }: Pick<Heartbeat, 'containersSeenMsAgo' | 'conditions'> = {},
): Promise<boolean> {
  const { store, cache, clock } = env;
  const key = keys.alive(node.tenant, node.name);
  const isUnobserved = isEngineDown(conditions) || containersSeenMsAgo > CONTAINERS_SEEN_WITHIN_MS;
  const mark = isUnobserved
    ? { unobservedSince: new Date(Math.max(0, clock.now() - containersSeenMsAgo)).toISOString() }
    : {};
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const entry = cache.get(key);
    const known = readPresence(entry, node);
    const isHolder = known !== undefined && judgeRun(known, node.run) === 'holds';
    if (entry && isHolder && (await store.keepAlive(known.lease))) {
      await updatePresence(env, node, entry, mark);
      return false;
    }
    const taken = await takeOver(env, node, mark);
    if (taken) return taken.wasAbsent;
    await cache.barrier();
  }
  throw new ConflictFault(key, ATTEMPTS);
}

/** Makes the node present with a lease of its own. Undefined when the record has changed meanwhile, or the node is gone. */
async function takeOver(
  { store, cache, clock, failedAfterSeconds, log }: DispatcherEnv,
  node: AgentIdentity,
  mark: Pick<NodePresence, 'unobservedSince'>,
): Promise<{ readonly wasAbsent: boolean } | undefined> {
  const key = keys.alive(node.tenant, node.name);
  const current = await store.get(key);
  const former = readPresence(current, node);
  if (judgeRun(former, node.run) === 'refused') throw new NodeHeldFault(node);

  const lease = await store.grant(failedAfterSeconds);
  const nodeKey = keys.node(node.tenant, node.name);
  const unfenced = removeFence(await store.get(nodeKey));
  const since = new Date(clock.now()).toISOString();
  const presence: NodePresence = { id: node.id, lease: lease.id, since, run: node.run.id, ...mark };
  const verdict = await store.commit({
    guards: [{ key, at: current?.revision ?? 0 }, unfenced?.guard ?? { key: nodeKey, exists: true }],
    puts: [{ key, bytes: encode(presence), lease: lease.id }, ...(unfenced ? [unfenced.put] : [])],
    deletes: [],
  });
  if (!verdict.stored) {
    await store.revoke(lease.id);
    return undefined;
  }
  // The next heartbeat must find this lease instead of granting another.
  await cache.reached(verdict.revision);
  if (former) {
    await store.revoke(former.lease);
    log.info('a new run of the agent has taken its node over', { tenant: node.tenant, node: node.name });
  }
  return { wasAbsent: !former };
}

/** A machine that sends heartbeats is not off, so its return removes the fence order. */
function removeFence(entry: Entry | undefined): { readonly guard: Guard; readonly put: Put } | undefined {
  if (!entry) return undefined;
  const { orders, ...node } = value<StoredNode>(entry);
  if (!orders?.fence) return undefined;
  const { fence: _, ...rest } = orders;
  const returned: StoredNode = { ...node, ...(Object.keys(rest).length > 0 && { orders: rest }) };
  return { guard: { key: entry.key, at: entry.revision }, put: { key: entry.key, bytes: encode(returned) } };
}

/**
 * Writes what the holder's heartbeat changes: whether it sees its containers, and what is known of a second agent.
 *
 * The second agent is announced here and not when it is refused: a machine that was switched off and on again is refused
 * too, until the lease of its former run ends, and is alone all the same.
 */
async function updatePresence(
  { store, events, clock }: DispatcherEnv,
  node: AgentIdentity,
  entry: Entry,
  mark: Pick<NodePresence, 'unobservedSince'>,
): Promise<void> {
  const known = value<NodePresence>(entry);
  const { unobservedSince, rival, ...rest } = known;
  const isUnobserved = mark.unobservedSince !== undefined;
  const isGone = rival && Math.abs(clock.now() - Date.parse(rival.at)) > RIVAL_GONE_AFTER_MS;
  const next: NodePresence = {
    ...rest,
    ...(isUnobserved && { unobservedSince: unobservedSince ?? mark.unobservedSince! }),
    ...(rival && !isGone && { rival: { ...rival, isAnnounced: true } }),
  };
  if (isDeepStrictEqual(next, known)) return;
  const isNew = next.rival !== undefined && !rival?.isAnnounced;
  const announcement = isNew ? [await events.put(toSecondAgentEvent(node))] : [];
  const puts = [{ key: entry.key, bytes: encode(next), lease: known.lease }, ...announcement];
  // If it is not stored, the next heartbeat repeats it.
  await store.commit({ guards: [{ key: entry.key, at: entry.revision }], puts, deletes: [] });
}

function toSecondAgentEvent({ tenant, name, id }: NodeIdentity): EventDraft {
  return {
    type: 'node.second_agent',
    tenant,
    subject: { kind: 'Node', name, id },
    severity: 'warning',
    reason: 'second_agent_refused',
    message: `A second agent with the identity of node ${name} was refused: its machine or its state folder is a copy. Stop it, or remove its state folder and enrol it under a name of its own.`,
  };
}

/** Notes in the presence of the holder that another run was refused: once a minute, however often it tries. */
export async function recordDuplicateAgent({ store, clock, log }: DispatcherEnv, node: AgentIdentity): Promise<void> {
  const key = keys.alive(node.tenant, node.name);
  const entry = await store.get(key);
  const presence = readPresence(entry, node);
  if (!entry || !presence || judgeRun(presence, node.run) !== 'refused') return;
  const { rival } = presence;
  const now = clock.now();
  if (rival && Math.abs(now - Date.parse(rival.at)) < RIVAL_NOTED_EVERY_MS) return;

  log.warn(
    'agent refused: another one sends the heartbeats of its node; stop one of them, and enrol a copied machine under a name of its own',
    { tenant: node.tenant, node: node.name },
  );
  const at = new Date(now).toISOString();
  const next: NodePresence = { ...presence, rival: { since: at, ...rival, run: node.run.id, at } };
  const puts = [{ key, bytes: encode(next), lease: presence.lease }];
  try {
    await store.commit({ guards: [{ key, at: entry.revision }], puts, deletes: [] });
  } catch (thrown) {
    if (!(thrown instanceof LeaseGoneFault)) throw thrown; // the holder has just become silent
  }
}
