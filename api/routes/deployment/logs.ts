import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { parseDuration } from '../../../crds/grammar/index.js';
import type { StoredJob } from '../../../crds/job/index.js';
import { ranges } from '../../../crds/keys/index.js';
import { formatJobOwner, type Replica } from '../../../crds/replica/index.js';
import { asError } from '../../../pkg/fault/index.js';
import { WHOLE_LOG } from '../../../pkg/link/index.js';
import { value } from '../../../pkg/store/index.js';
import { type QueryParams, readFlag, readInteger, rejectParameter } from '../../http/query.js';
import { NDJSON_TYPE, RequestRejection, rejectRequest, SSE_TYPE } from '../../http/reply.js';
import { type ApiCall, defineRoute, type Route, type RouteResult } from '../../http/route.js';
import { loadJob, readJobStatus } from '../job/view.js';
import { type LogEnv, type LogQuery, type LogSubject, openSources } from './log-sources.js';
import { type LogEncoding, LogStream, parseLogCursor, parseLogCursors } from './log-stream.js';
import { loadDeployment } from './view.js';

export type { LogEnv } from './log-sources.js';

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

async function readLogs(env: LogEnv, call: ApiCall, find: FindSubject): Promise<RouteResult> {
  const asked = readLogQuery(env, call);
  if (asked instanceof RequestRejection) return asked;
  if (call.query.get('replica') === ALL) return readAllLogs(env, call, asked);
  const cursor = asked.after === undefined ? undefined : parseLogCursor(asked.after);
  if (asked.after !== undefined && !cursor)
    return rejectParameter('after', asked.after, 'a cursor of an earlier answer');
  const query = { ...asked, cursor };
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

const ALL = 'all';
/** Of one deployment at once. */
const MOST_AT_ONCE = 16;

/**
 * The logs of all replicas in one answer, as JSON lines: a browser has few connections. Each line names its replica, and so does
 * the end of each; the answer ends with the last of them.
 */
async function readAllLogs(env: LogEnv, call: ApiCall, asked: ParsedLogQuery): Promise<RouteResult> {
  const { format, previous, after } = asked;
  if (format !== 'ndjson') return rejectParameter('replica', ALL, `a number, or Accept: ${NDJSON_TYPE}`);
  if (previous) return rejectParameter('previous', 'true', 'previous with the number of a replica');
  const cursors = after === undefined ? new Map<number, never>() : parseLogCursors(after);
  if (!cursors) return rejectParameter('after', after!, 'replica:cursor of an earlier answer, with commas between');
  const found = await findReplicas(env, call);
  if (found instanceof RequestRejection) return found;
  const { replicas, ...owner } = found;
  if (replicas.length === 0) return rejectRequest('logs_not_kept', 'replica', ALL);
  const opened = await Promise.all(
    replicas.slice(0, MOST_AT_ONCE).map(async replica => {
      const subject = { field: 'replica', ...owner, slot: replica.slot, replica } as const;
      const query = { ...asked, cursor: cursors.get(replica.slot) };
      return { slot: replica.slot, sources: await openSources(env, call, query, subject) };
    }),
  );
  const release = () => {
    for (const { sources } of opened)
      if (!(sources instanceof RequestRejection)) for (const { done } of sources) done();
  };
  return {
    status: 200,
    type: TYPES[format],
    abandon: release,
    open: out => {
      out.setMaxListeners(0); // each log waits for room in the answer by itself
      const forget = env.streams.add('logs', call.caller, () => out.end());
      out.once('close', () => {
        forget();
        release();
      });
      const copies = opened.flatMap(({ slot, sources }) => {
        const stream = new LogStream(out, { format, replica: slot, clock: env.clock, isShared: true });
        if (!(sources instanceof RequestRejection)) return [stream.copy(sources)];
        stream.refuse(sources.rejections[0]);
        return [];
      });
      for (const { slot } of replicas.slice(MOST_AT_ONCE))
        new LogStream(out, { format, replica: slot, clock: env.clock, isShared: true }).leaveOut(MOST_AT_ONCE);
      Promise.all(copies).then(
        () => out.end(),
        (thrown: unknown) => {
          env.log.debug('log streams ended early', { requestId: call.requestId, error: asError(thrown) });
          out.destroy();
        },
      );
    },
  };
}

type ParsedLogQuery = Omit<LogQuery, 'cursor'> & { readonly after: string | undefined };

function readLogQuery({ clock }: LogEnv, { query, request }: ApiCall): ParsedLogQuery | RequestRejection {
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
  return { format, follow, previous, tail, since, after: text };
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

interface OwnReplicas {
  readonly deploymentUid: string;
  readonly replicas: readonly Replica[];
}

async function findReplicas({ cache }: LogEnv, { tenant, params }: ApiCall): Promise<OwnReplicas | RequestRejection> {
  const deployment = await loadDeployment(cache, tenant, params['name']!);
  if (deployment instanceof RequestRejection) return deployment;
  const name = deployment.key.slice(ranges.of(ranges.deployments, tenant).length);
  const deploymentUid = value<StoredDeployment>(deployment).metadata.uid;
  return { deploymentUid, replicas: listReplicas(cache, tenant, name, deploymentUid) };
}

async function findReplica(env: LogEnv, call: ApiCall): Promise<LogSubject | RequestRejection> {
  const wanted = readInteger(call.query, 'replica', { min: 0, max: 1_000_000, fallback: -1 });
  if (wanted instanceof RequestRejection) return wanted;
  const known = await findReplicas(env, call);
  if (known instanceof RequestRejection) return known;
  const { replicas, deploymentUid } = known;
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
