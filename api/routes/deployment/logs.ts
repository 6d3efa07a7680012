import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { createTypedId, parseDuration } from '../../../crds/grammar/index.js';
import type { StoredJob } from '../../../crds/job/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { formatJobOwner, type Replica } from '../../../crds/replica/index.js';
import { asError } from '../../../pkg/fault/index.js';
import { ANY_NODE, type LogRequest, WHOLE_LOG } from '../../../pkg/link/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { type QueryParams, readFlag, readInteger, rejectParameter } from '../../http/query.js';
import { NDJSON_TYPE, rejectRequest, RequestRejection, SSE_TYPE } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult, type StorageEnv } from '../../http/route.js';
import type { LogRendezvous, LogSource } from '../../stream/logs.js';
import type { OpenStreams } from '../../stream/open-streams.js';
import { loadJob, readJobStatus } from '../job/view.js';
import { findNodeById } from '../node/view.js';
import { type LogCursor, type LogEncoding, LogStream, parseLogCursor } from './log-stream.js';
import { loadDeployment } from './view.js';

/** What logs are read with. */
export interface LogEnv extends StorageEnv {
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
const TYPES: Readonly<Record<LogEncoding, string>> = {
  ndjson: NDJSON_TYPE,
  sse: SSE_TYPE,
  text: 'text/plain; charset=utf-8',
};

/** Logs: what the container of one replica, or of one attempt of a job, has printed, brought by its node. */
export function createLogRoutes(env: LogEnv): readonly Route[] {
  const query = ['follow', 'tail', 'since', 'after', 'previous'];
  const route = (kind: string, number: string, find: FindSubject) =>
    defineRoute('viewer', 'GET', `/api/v1/${kind}/{name}/logs`, call => readLogs(env, call, find), {
      query: [...query, number],
    });
  return [
    route('deployments', 'replica', call => findReplica(env, call)),
    route('jobs', 'attempt', call => findAttempt(env, call)),
  ];
}

type FindSubject = (call: ApiCall) => Promise<LogSubject | RequestRejection>;

/** What is asked for. */
interface LogQuery {
  readonly format: LogEncoding;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly tail: number;
  readonly since: string | undefined;
  readonly cursor: LogCursor | undefined;
}

/** The replica that is read, or its slot while it has none. */
interface LogSubject {
  /** The parameter that chooses it. */
  readonly field: 'replica' | 'attempt';
  readonly deploymentUid: string;
  readonly slot: number;
  readonly replica: Replica | undefined;
  /** The deployment has no replica at all, as while it is stopped. */
  readonly isEmpty?: boolean;
}

async function readLogs(env: LogEnv, call: ApiCall, find: FindSubject): Promise<RouteResult> {
  const query = readLogQuery(env, call);
  if (query instanceof RequestRejection) return query;
  const subject = await find(call);
  if (subject instanceof RequestRejection) return subject;
  const sources = await openSources(env, call, query, subject);
  if (sources instanceof RequestRejection) return sources;

  const release = () => sources.forEach(({ done }) => done());
  return {
    status: 200,
    type: TYPES[query.format],
    abandon: release,
    open: out => {
      const forget = env.streams.add('logs', call.caller, () => out.end());
      out.once('close', () => {
        forget();
        release();
      });
      const stream = new LogStream(out, { format: query.format, replica: subject.slot, clock: env.clock });
      stream.copy(sources).catch((thrown: unknown) => {
        env.log.debug('log stream ended early', { requestId: call.requestId, error: asError(thrown) });
        out.destroy(); // or its reader would wait for ever
      });
    },
  };
}

function readLogQuery({ clock }: LogEnv, { query, request }: ApiCall): LogQuery | RequestRejection {
  const follow = readFlag(query, 'follow');
  if (follow instanceof RequestRejection) return follow;
  const previous = readFlag(query, 'previous');
  if (previous instanceof RequestRejection) return previous;
  if (previous && follow)
    return rejectParameter('previous', 'true', 'previous without follow: an ended log does not grow');
  const tail = readInteger(query, 'tail', { min: 0, max: WHOLE_LOG, fallback: WHOLE_LOG });
  if (tail instanceof RequestRejection) return tail;
  const since = readSince(query, clock.now());
  if (since instanceof RequestRejection) return since;
  const accept = request.headers.accept ?? '';
  const format = accept.includes('text/event-stream') ? 'sse' : accept.includes('ndjson') ? 'ndjson' : 'text';
  const last = format === 'sse' ? request.headers['last-event-id'] : undefined;
  const text = typeof last === 'string' && last !== '' ? last : query.get('after');
  const cursor = text === undefined ? undefined : parseLogCursor(text);
  if (text !== undefined && !cursor) return rejectParameter('after', text, 'a cursor of an earlier answer');
  return { format, follow, previous, tail, since, cursor };
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:\d\d)$/;

/** How long ago, or since when: in seconds with nine decimals. */
export function readSince(query: QueryParams, now: number): string | RequestRejection | undefined {
  const text = query.get('since');
  if (text === undefined) return undefined;
  const [, fraction = ''] = RFC3339.exec(text) ?? [];
  const isTime = RFC3339.test(text);
  const ago = isTime ? 0 : parseDuration(text);
  const ms = isTime ? Date.parse(text) : now - (ago ?? Number.NaN);
  if (Number.isNaN(ms) || ms > 9_999_999_999_000) {
    return rejectParameter('since', text, 'a duration such as 90s or 1h30m, or a time such as 2026-01-31T10:00:00Z');
  }
  const at = Math.max(0, ms);
  const seconds = String(Math.floor(at / 1000)).padStart(10, '0');
  return `${seconds}.${isTime ? fraction.padEnd(9, '0') : `${String(at % 1000).padStart(3, '0')}000000`}`;
}

async function findReplica(
  { cache }: LogEnv,
  { tenant, params, query }: ApiCall,
): Promise<LogSubject | RequestRejection> {
  const wanted = readInteger(query, 'replica', { min: 0, max: 1_000_000, fallback: -1 });
  if (wanted instanceof RequestRejection) return wanted;
  const deployment = await loadDeployment(cache, tenant, params['name']!);
  if (deployment instanceof RequestRejection) return deployment;
  const name = deployment.key.slice(ranges.of(ranges.deployments, tenant).length);
  const deploymentUid = value<StoredDeployment>(deployment).metadata.uid;
  const replicas = listReplicas(cache, tenant, name, deploymentUid);
  const found = { field: 'replica', deploymentUid, isEmpty: replicas.length === 0 } as const;
  if (wanted >= 0) return { ...found, slot: wanted, replica: replicas.find(({ slot }) => slot === wanted) };
  const replica = replicas.find(({ nodeId }) => nodeId !== undefined) ?? replicas[0];
  return { ...found, slot: replica?.slot ?? 0, replica };
}

/** The attempt that is asked for; otherwise the last one that was made. */
async function findAttempt(
  { cache }: LogEnv,
  { tenant, params, query }: ApiCall,
): Promise<LogSubject | RequestRejection> {
  const wanted = readInteger(query, 'attempt', { min: 0, max: 1_000_000, fallback: -1 });
  if (wanted instanceof RequestRejection) return wanted;
  const job = await loadJob(cache, tenant, params['name']!);
  if (job instanceof RequestRejection) return job;
  const { uid } = value<StoredJob>(job).metadata;
  const slot = wanted >= 0 ? wanted : (readJobStatus(cache, job).history.at(-1)?.attempt ?? 1);
  const attempts = listReplicas(cache, tenant, formatJobOwner(params['name']!), uid);
  return { field: 'attempt', deploymentUid: uid, slot, replica: attempts.find(each => each.slot === slot) };
}

function listReplicas(cache: LogEnv['cache'], tenant: string, owner: string, uid: string): readonly Replica[] {
  return cache
    .list(ranges.replicasOf(tenant, owner))
    .map(entry => value<Replica>(entry))
    .filter(replica => replica.deploymentUid === uid)
    .toSorted((a, b) => a.slot - b.slot);
}

/**
 * The streams to copy, one after the other: what was left of the log of an earlier container on another node, and the log of the
 * current one.
 */
async function openSources(
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

/** Stores the request where agents are told of it, for as long as the wait lasts. */
async function request<T>(
  env: LogEnv,
  call: ApiCall,
  nodeId: string,
  body: Omit<LogRequest, 'id'>,
  wait: (id: string) => Promise<T>,
): Promise<T> {
  const id = createTypedId('log', count => env.random.bytes(count));
  const lease = await env.store.grant(LEASE_SECONDS);
  const arrival = wait(id);
  const key = keys.logRequest(call.tenant, nodeId, id);
  const puts = [{ key, bytes: encode({ id, ...body }), lease: lease.id }];
  await env.store.commit({ guards: [{ key, at: 0 }], puts, deletes: [] });
  const arrived = await arrival;
  // The agent has dialled in, or will not do so any more: the stored request is not needed any longer.
  env.store
    .revoke(lease.id)
    .catch((thrown: unknown) =>
      env.log.debug('log request is left to its lease', { requestId: call.requestId, error: asError(thrown) }),
    );
  return arrived;
}
