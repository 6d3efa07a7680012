import type { ServerResponse } from 'node:http';

import { createTypedId } from '../../../crds/grammar/index.js';
import { keys, ranges } from '../../../crds/keys/index.js';
import { reject } from '../../../crds/rejections/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { asError } from '../../../pkg/fault/index.js';
import type { LogLine, LogRequest } from '../../../pkg/link/index.js';
import { readDocuments } from '../../../pkg/ndjson/index.js';
import { encode, value } from '../../../pkg/store/index.js';
import { readFlag, readInteger } from '../../http/query.js';
import { rejectRequest, RequestRejection } from '../../http/reply.js';
import { readUid } from '../../http/resource.js';
import { type ApiCall, defineRoute, type Route, type RouteResult, type StorageEnv } from '../../http/route.js';
import type { LogRendezvous, LogSource } from '../../stream/logs.js';
import type { OpenStreams } from '../../stream/open-streams.js';
import { loadDeployment } from './view.js';

/** What logs are read with. */
export interface LogEnv extends StorageEnv {
  readonly logs: LogRendezvous;
  readonly streams: OpenStreams;
  /** URL under which agents reach this server and no other. */
  readonly agentUrl: () => string;
}

const DIAL_MS = 10_000;
const LEASE_SECONDS = 30;
const MAX_TAIL = 100_000;
const SOON = { 'retry-after': '5' };
const LINE_BYTES = 4 * 1024 * 1024;

/** Logs: what one replica's container has written, brought by its node. */
export function createLogRoutes(env: LogEnv): readonly Route[] {
  const query = ['follow', 'tail', 'replica'];
  return [defineRoute('viewer', 'GET', '/api/v1/deployments/{name}/logs', call => readLogs(env, call), { query })];
}

async function readLogs(env: LogEnv, call: ApiCall): Promise<RouteResult> {
  const follow = readFlag(call.query, 'follow');
  if (follow instanceof RequestRejection) return follow;
  const tail = readInteger(call.query, 'tail', { min: 0, max: MAX_TAIL, fallback: MAX_TAIL });
  if (tail instanceof RequestRejection) return tail;
  const replica = await findReplica(env, call);
  if (replica instanceof RequestRejection) return replica;

  const { nodeId } = replica;
  const id = createTypedId('log', count => env.random.bytes(count));
  const request: LogRequest = { id, replica: replica.uid, follow, tail, server: env.agentUrl() };
  const lease = await env.store.grant(LEASE_SECONDS);
  const arrival = env.logs.await(id, nodeId, DIAL_MS);
  const key = keys.logRequest(call.tenant, nodeId, id);
  const puts = [{ key, bytes: encode(request), lease: lease.id }];
  await env.store.commit({ guards: [{ key, at: 0 }], puts, deletes: [] });
  const source = await arrival;
  // The agent has dialled in, or will not do so any more: the stored request is not needed any longer.
  const logFailure = (what: string) => (thrown: unknown) =>
    env.log.debug(what, { requestId: call.requestId, error: asError(thrown) });
  env.store.revoke(lease.id).catch(logFailure('log request is left to its lease'));
  if (typeof source === 'string') {
    const code = source === 'late' ? 'logs_unavailable' : 'logs_too_many';
    return new RequestRejection(reject(code, 'replica', String(replica.slot)), SOON);
  }
  return {
    status: 200,
    type: 'text/plain; charset=utf-8',
    abandon: source.done,
    open: out => {
      const forget = env.streams.add('logs', call.caller, () => out.end());
      out.once('close', () => {
        forget();
        source.done();
      });
      copyLogs(source, out).catch(logFailure('log stream ended early'));
    },
  };
}

type PlacedReplica = Replica & { readonly nodeId: string };

async function findReplica(
  { cache }: LogEnv,
  { tenant, params, query }: ApiCall,
): Promise<PlacedReplica | RequestRejection> {
  const slot = query.has('replica')
    ? readInteger(query, 'replica', { min: 0, max: 1_000_000, fallback: 0 })
    : undefined;
  if (slot instanceof RequestRejection) return slot;
  const deployment = await loadDeployment(cache, tenant, params['name']!);
  if (deployment instanceof RequestRejection) return deployment;
  const name = deployment.key.slice(ranges.of(ranges.deployments, tenant).length);
  const uid = readUid(deployment.bytes);
  const replicas = cache
    .list(ranges.replicasOf(tenant, name))
    .map(entry => value<Replica>(entry))
    .filter((replica): replica is PlacedReplica => replica.deploymentUid === uid && replica.nodeId !== undefined)
    .toSorted((a, b) => a.slot - b.slot);
  const chosen = slot === undefined ? replicas[0] : replicas.find(replica => replica.slot === slot);
  return chosen ?? rejectRequest('resource_not_found', 'replica', String(slot ?? 'any'));
}

/** Copies the text of the lines, at the pace of the slower side. */
async function copyLogs({ lines, done }: LogSource, out: ServerResponse): Promise<void> {
  try {
    for await (const line of readDocuments(lines, LINE_BYTES)) {
      if (out.destroyed || out.writableEnded) return;
      if (!out.write((line as LogLine).text)) await waitForDrain(out);
    }
  } finally {
    out.end();
    done();
  }
}

/** Waits until more can be written, or nothing ever will be. Leaves no listener behind. */
function waitForDrain(out: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const settle = () => {
      out.off('drain', settle).off('close', settle);
      resolve();
    };
    out.on('drain', settle).on('close', settle);
  });
}
