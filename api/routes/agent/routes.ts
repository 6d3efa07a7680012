import { checkEnvironmentRequest } from '../../../crds/delivery/index.js';
import { keys } from '../../../crds/keys/index.js';
import { checkNetworkReports } from '../../../crds/network/index.js';
import { checkVolumeReports } from '../../../crds/volume/index.js';
import {
  checkDoublesRequest,
  checkGoneDeploymentsRequest,
  checkGoneNodesRequest,
  checkHeartbeat,
  checkRenewal,
  type StoredNode,
} from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { checkReportBatch } from '../../../crds/report/index.js';
import {
  AGENT_HEADER,
  type AgentDispatcher,
  type AgentIdentity,
  type EnvironmentReply,
  formatRenewalText,
  isSignedBy,
  NODE_HELD,
  NodeHeldFault,
  parseAgentRun,
  parseNodeKey,
  type PullCredentialReply,
  RENEWAL_SKEW_MS,
  TIME_HEADER,
  toEnvironmentRejection,
} from '../../../pkg/link/index.js';
import { encode, type Entry, value } from '../../../pkg/store/index.js';
import type { RateLimiter } from '../../access/rate-limiter.js';
import { toAddressKey } from '../../http/hosts.js';
import { NDJSON_TYPE, rejectRequest, replyJson, RequestRejection } from '../../http/reply.js';
import { anonymous, type ApiCall, defineRoute, type Method, type Route, type RouteResult } from '../../http/route.js';
import type { AssignmentStreams } from '../../stream/assignments.js';
import type { LogRendezvous } from '../../stream/logs.js';
import { write, type Writing } from '../../write/write.js';
import { mintNodeToken, TOKENS_PER_NODE } from '../node/enrol.js';
import { findNodeById } from '../node/view.js';
import { listOlderNodeTokens, type TokenEnv, toTokenPut } from '../token/routes.js';

/** What agents are served with. */
export interface AgentRoutesEnv extends TokenEnv {
  readonly rateLimiter: RateLimiter;
  readonly dispatcher: AgentDispatcher;
  readonly assignments: AssignmentStreams;
  readonly logs: LogRendezvous;
  /** When each node last sent a heartbeat to this server, in wall time. */
  readonly lastHeartbeatAt: Map<string, number>;
}

/** The routes of the agents: a node's token opens these and no others, and each only for that node. */
export function createAgentRoutes(env: AgentRoutesEnv): readonly Route[] {
  const route = (method: Method, path: string, handle: Route['handle'], body: Route['body'] = 'json') =>
    defineRoute({ node: true }, method, `/agent/v1/${path}`, refuseSecondAgent(handle), { query: [], body });
  return [
    route('POST', 'heartbeat', call => receiveHeartbeat(env, call)),
    route('POST', 'reports', call => receiveReports(env, call)),
    route('POST', 'networks', call => receiveNetworks(env, call)),
    route('POST', 'volumes', call => receiveVolumes(env, call)),
    route('POST', 'gone-nodes', call => findGoneNodes(env, call)),
    route('POST', 'doubles', call => findDoubles(env, call)),
    route('POST', 'gone-deployments', call => findGoneDeployments(env, call)),
    route('GET', 'assignments', call => openAssignments(env, call), 'none'),
    route('POST', 'environment', call => deliverEnvironment(env, call)),
    route('POST', 'pull-credential', call => deliverPullCredential(env, call)),
    route('POST', 'logs/{id}', call => receiveLogs(env, call), 'stream'),
    route('DELETE', 'logs/{id}', call => declineLogs(env, call), 'none'),
    // The signature is the credential: a node whose token has run out must be able to come back.
    defineRoute('open', 'POST', '/agent/v1/token', call => renewToken(env, call), { tenant: 'none', query: [] }),
  ];
}

/** The node of a request, and which run of its agent sends it: a proof without one is not good. */
function readNode({ caller, tenant, request }: ApiCall): AgentIdentity {
  const run = parseAgentRun(String(request.headers[AGENT_HEADER]))!;
  return { tenant, id: caller.token?.node ?? '', name: caller.token?.nodeName ?? '', run };
}

/** Of several agents with one identity, one is served. */
function refuseSecondAgent(handle: Route['handle']): Route['handle'] {
  return async call => {
    try {
      return await handle(call);
    } catch (thrown) {
      if (!(thrown instanceof NodeHeldFault)) throw thrown;
      return rejectRequest(NODE_HELD, 'Mooring-Agent', '');
    }
  };
}

async function receiveHeartbeat(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkHeartbeat(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const node = readNode(call);
  const reply = await env.dispatcher.heartbeat(node, checked.value);
  if (!reply) return rejectRequest('resource_not_found', 'node', node.id);
  env.lastHeartbeatAt.set(node.id, env.clock.now());
  return replyJson(200, { ...reply, alterations: checked.alterations });
}

async function receiveReports(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkReportBatch(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const intake = await env.dispatcher.report(
    readNode(call),
    checked.value,
    env.log.with({ requestId: call.requestId }),
  );
  if (intake.accepted) return replyJson(200, {});
  if (!('waitMs' in intake)) return rejectRequest('report_not_own', 'reports', intake.replica);
  const { perSecond, waitMs } = intake;
  const rejection = reject('rate_limited', 'reports', '', { perSecond });
  return new RequestRejection(rejection, { 'retry-after': String(Math.ceil(waitMs / 1000)) });
}

async function receiveNetworks(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkNetworkReports(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  await env.dispatcher.reportNetworks(readNode(call), checked.value.networks);
  return replyJson(200, {});
}

async function receiveVolumes(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkVolumeReports(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  await env.dispatcher.reportVolumes(readNode(call), checked.value.volumes);
  return replyJson(200, {});
}

/** A node of another tenant is answered like one that never was. */
async function findGoneNodes(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkGoneNodesRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  return replyJson(200, { gone: await env.dispatcher.findGoneNodes(readNode(call), checked.value.ids) });
}

async function findDoubles(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkDoublesRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  return replyJson(200, { doubled: await env.dispatcher.findDoubles(readNode(call), checked.value.containers) });
}

async function findGoneDeployments(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkGoneDeploymentsRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  return replyJson(200, { gone: await env.dispatcher.findGoneDeployments(readNode(call), checked.value.uids) });
}

/** One of the two answers that contain secret values. */
async function deliverEnvironment(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkEnvironmentRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const answer = await env.dispatcher.environment(
    readNode(call),
    checked.value,
    env.log.with({ requestId: call.requestId }),
  );
  if (answer.kind !== 'ready') {
    return rejectRequest(toEnvironmentRejection(answer).code, 'replica', checked.value.replica);
  }
  const values = Object.fromEntries([...answer.environment].map(([name, secret]) => [name, secret.reveal()]));
  const reply: EnvironmentReply = { environment: values };
  return replyJson(200, reply);
}

/** The other one: the tenant's own login for the registry of one image. */
async function deliverPullCredential(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkEnvironmentRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const log = env.log.with({ requestId: call.requestId });
  const answer = await env.dispatcher.pullCredential(readNode(call), checked.value, log);
  if (answer.kind !== 'found' && answer.kind !== 'none') {
    return rejectRequest(toEnvironmentRejection(answer).code, 'replica', checked.value.replica);
  }
  const { secret } = answer;
  const login = answer.kind === 'found' && { username: answer.username, password: answer.password.reveal() };
  const reply: PullCredentialReply = { secret, ...(login && { login }) };
  return replyJson(200, reply);
}

async function openAssignments(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  await env.dispatcher.demandHolder(readNode(call));
  return { status: 200, type: NDJSON_TYPE, open: out => env.assignments.open(readNode(call), call.caller, out) };
}

async function receiveLogs(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const id = call.params['id']!;
  const done = env.logs.deliver(id, readNode(call), call.request);
  if (!done) return new RequestRejection(reject('resource_not_found', 'id', id), { connection: 'close' });
  await done;
  return { ...replyJson(200, {}), headers: { connection: 'close' } };
}

function declineLogs(env: AgentRoutesEnv, call: ApiCall): RouteResult {
  const id = call.params['id']!;
  return env.logs.decline(id, readNode(call)) ? replyJson(200, {}) : rejectRequest('resource_not_found', 'id', id);
}

/**
 * Renews the token of a node. The time of the renewal is stored with the node and must be later than the last one, so that a
 * recorded request is worth nothing; of the node's tokens the newest two are valid.
 */
async function renewToken(env: AgentRoutesEnv, call: ApiCall): Promise<RouteResult> {
  const { document, request } = call;
  const address = toAddressKey(request.socket.remoteAddress);
  // What the node has signed is counted for the node; anything else for its address, which others may share.
  const checkUnsigned = () => env.rateLimiter.check(anonymous, address);
  const checked = checkRenewal(document);
  if (!checked.ok) return checkUnsigned() ?? new RequestRejection(checked.rejections);
  const { nodeId, at, proof } = checked.value;
  const forged = rejectRequest('node_proof_invalid', 'proof', proof);
  let known = findNodeById(env.cache, nodeId);
  if (!known) {
    const busy = checkUnsigned();
    if (busy) return busy;
    await env.cache.barrier();
    known = findNodeById(env.cache, nodeId);
    if (!known) return forged;
  }
  const { publicKey } = value<StoredNode>(known);
  if (!isSignedBy(parseNodeKey(publicKey), formatRenewalText(nodeId, at), proof)) return checkUnsigned() ?? forged;
  const now = env.clock.now();
  if (Math.abs(now - at) > RENEWAL_SKEW_MS) {
    const refusal = reject('renewal_time_skewed', 'at', at, { seconds: RENEWAL_SKEW_MS / 1000 });
    return new RequestRejection(refusal, { [TIME_HEADER]: String(now) });
  }
  return write(env, call, {
    name: 'node',
    facts: () => {
      const entry = findNodeById(env.cache, nodeId);
      const node = entry && value<StoredNode>(entry);
      if (!node || node.publicKey !== publicKey) return forged;
      const { renewedAt = 0 } = node;
      // A server whose clock was ahead may have stored a time that is still to come: it must not lock the node out.
      if (at <= renewedAt && renewedAt <= now + RENEWAL_SKEW_MS) return rejectRequest('renewal_replayed', 'at', at);
      return env.rateLimiter.checkRenewal(nodeId) ?? entry;
    },
    judge: (given, { keyring }) => {
      const { id, name, metadata } = value<StoredNode>(given.facts);
      return mintNodeToken({ keyring }, given, { id, name, tenant: metadata.tenant }, id);
    },
    // One transaction stores the new token and the time, and revokes what is older.
    plan: ({ facts: entry, now: stamp }, { stored }, { cache }) => {
      const node = value<StoredNode>(entry);
      return {
        record: { key: entry.key, bytes: encode({ ...node, renewedAt: at }) },
        over: entry,
        puts: [toTokenPut(stored, stamp)],
        guards: [{ key: keys.tenant(node.metadata.tenant), exists: true }],
        deletes: listOlderNodeTokens(cache, node.id, TOKENS_PER_NODE - 1),
        proof: keys.token(stored.id),
      };
    },
    show: (_env, _written, _given, { reply }) => reply,
  } satisfies Writing<AgentRoutesEnv, Entry, ReturnType<typeof mintNodeToken>>);
}
