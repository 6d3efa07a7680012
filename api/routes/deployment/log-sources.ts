import { createTypedId } from '../../../crds/grammar/index.js';
import { keys } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { ANY_NODE, type LogRequest, WHOLE_LOG } from '../../../pkg/link/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import type { ApiCall } from '../../http/route.js';
import type { LogRendezvous, LogSource } from '../../stream/logs.js';
import type { OpenStreams } from '../../stream/open-streams.js';
import type { WriteEnv } from '../../write/write.js';
import { findNodeById } from '../node/view.js';
import type { LogCursor, LogEncoding } from './log-stream.js';

/** What logs are read with. */
export interface LogEnv extends WriteEnv {
  readonly logs: LogRendezvous;
  readonly streams: OpenStreams;
  /** URL under which agents reach this server and no other. */
  readonly agentUrl: () => string;
}

const DIAL_MS = 12_000;
/** How long nodes have to find out that they have kept a log. */
const KEPT_MS = 1_500;
const LEASE_SECONDS = 30;
const SOON = { 'retry-after': '5' };

/** What is asked for. */
export interface LogQuery {
  readonly format: LogEncoding;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly tail: number;
  readonly since: string | undefined;
  readonly cursor: LogCursor | undefined;
}

/** The replica that is read, or its slot while it has none. */
export interface LogSubject {
  /** The parameter that chooses it. */
  readonly field: 'replica' | 'attempt';
  readonly deploymentUid: string;
  readonly slot: number;
  readonly replica: Replica | undefined;
  /** The deployment has no replica at all, as while it is stopped. */
  readonly isEmpty?: boolean;
}

/**
 * The streams to copy, one after the other: what was left of the log of an earlier container on another node, and the log of the
 * current one.
 */
export async function openSources(
  env: LogEnv,
  call: ApiCall,
  query: LogQuery,
  subject: LogSubject,
): Promise<readonly LogSource[] | RequestRejection> {
  const { field, replica, slot } = subject;
  const hasMoved = query.cursor !== undefined && query.cursor.nodeId !== replica?.nodeId;
  const isPlaced = replica?.nodeId !== undefined;
  const kept = query.previous || !isPlaced || hasMoved ? await findKept(env, call, query, subject) : undefined;
  if (query.previous) return kept ? [kept] : rejectRequest('logs_not_kept', 'previous', String(slot));
  if (!isPlaced) {
    if (kept) return [kept];
    if (replica) return rejectRequest('logs_replica_not_placed', field, String(slot));
    return rejectRequest(subject.isEmpty ? 'logs_not_kept' : 'resource_not_found', field, String(slot));
  }
  const current = await openCurrent(env, call, hasMoved ? { ...query, cursor: undefined, tail: WHOLE_LOG } : query, {
    ...subject,
    nodeId: replica.nodeId,
  });
  if (!(current instanceof RequestRejection)) return kept ? [kept, current] : [current];
  return kept ? [kept] : current;
}

async function openCurrent(
  env: LogEnv,
  call: ApiCall,
  query: LogQuery,
  subject: LogSubject & { readonly nodeId: string },
): Promise<LogSource | RequestRejection> {
  const { field, nodeId, slot } = subject;
  const refuse = (code: LogFailure) => new RequestRejection(reject(code, field, String(slot)), SOON);
  if (isSilent(env, call.tenant, nodeId)) return refuse('logs_node_silent');
  const source = await request(env, call, nodeId, buildRequest(env, query, subject), id =>
    env.logs.await(id, nodeId, DIAL_MS),
  );
  if (source === 'late') return refuse('logs_unavailable');
  if (source === 'declined') return refuse('logs_too_many');
  const { end } = source.first ?? {};
  if (end !== 'no_container' && end !== 'engine_unreachable') return source;
  source.done();
  return end === 'no_container'
    ? rejectRequest('logs_no_container', field, String(slot))
    : refuse('logs_engine_unreachable');
}

type LogFailure = 'logs_node_silent' | 'logs_unavailable' | 'logs_too_many' | 'logs_engine_unreachable';

/** Whether heartbeats of the node have stopped. */
function isSilent({ cache }: LogEnv, tenant: string, nodeId: string): boolean {
  const node = findNodeById(cache, nodeId);
  return node !== undefined && cache.get(keys.alive(tenant, value<StoredNode>(node).name)) === undefined;
}

/** Asks every node of the tenant for the log of a removed container: the one that was removed last counts. */
async function findKept(
  env: LogEnv,
  call: ApiCall,
  query: LogQuery,
  subject: LogSubject,
): Promise<LogSource | undefined> {
  const body = buildRequest(env, query, { ...subject, replica: undefined });
  const found = await request(env, call, ANY_NODE, body, id => env.logs.collect(id, call.tenant, KEPT_MS));
  const removedAt = ({ first }: LogSource) => first?.begin?.removedAt ?? '';
  const [newest, ...others] = found.toSorted((a, b) => removedAt(b).localeCompare(removedAt(a)));
  for (const { done } of others) done();
  return newest;
}

function buildRequest(
  env: LogEnv,
  { follow, tail, since, cursor }: LogQuery,
  { deploymentUid, slot, replica }: LogSubject,
): Omit<LogRequest, 'id'> {
  return {
    replica: replica?.uid ?? '',
    deploymentUid,
    slot,
    follow,
    tail,
    ...(since !== undefined && { since }),
    ...(cursor && { after: cursor.position }),
    server: env.agentUrl(),
  };
}

/** Stores the request where agents receive it, for as long as the wait lasts. */
function request<T>(
  env: LogEnv,
  call: ApiCall,
  nodeId: string,
  body: Omit<LogRequest, 'id'>,
  wait: (id: string) => Promise<T>,
): Promise<T> {
  const id = createTypedId('log', count => env.random.bytes(count));
  const record = { key: keys.logRequest(call.tenant, nodeId, id), bytes: encode({ id, ...body }) };
  // Once the agent has dialled in, or will not do so any more, the stored request is not needed any longer.
  return env.committer.leave(record, LEASE_SECONDS, () => wait(id));
}
