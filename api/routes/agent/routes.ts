import { checkEnvironmentRequest } from '../../../crds/delivery/index.js';
import { checkHeartbeat, checkRenewal, type StoredNode } from '../../../crds/node/index.js';
import { reject } from '../../../crds/rejections/index.js';
import { checkReportBatch } from '../../../crds/report/index.js';
import {
  type EnrolReply,
  type EnvironmentReply,
  toEnvironmentRefusal,
  type NodeIdentity,
  formatRenewalText,
} from '../../../pkg/link/index.js';
import type { Logger } from '../../../pkg/log/index.js';
import { value } from '../../../pkg/store/index.js';
import type { RateLimiter } from '../../access/rate-limiter.js';
import type { StreamEnv } from '../../stream/env.js';
import type { ApiCall } from '../../http/call.js';
import { RequestRejection } from '../../http/rejection.js';
import { replyJson, NDJSON_TYPE } from '../../http/reply.js';
import type { RouteResult, Route } from '../../http/route.js';
import { isProofValid, mintNodeToken } from '../node/enrol.js';
import { findNodeById } from '../node/view.js';
import { storeToken, type TokenEnv } from '../token/token.js';

/** What agents are served with. */
export interface AgentEnv extends TokenEnv, StreamEnv {
  readonly rateLimiter: RateLimiter;
  /** When each node last sent a heartbeat to this server, in wall time. */
  readonly lastHeartbeatAt: Map<string, number>;
}

const SKEW_SECONDS = 120;

/** The lane of the agents: a node's token opens these and nothing else, and each only for that node. */
export function agentRoutes(env: AgentEnv): readonly Route[] {
  const common = { access: { node: true }, tenant: 'own', query: [] } as const;
  return [
    { ...common, method: 'POST', path: '/agent/v1/heartbeat', body: 'json', handle: call => heartbeat(env, call) },
    { ...common, method: 'POST', path: '/agent/v1/reports', body: 'json', handle: call => report(env, call) },
    { ...common, method: 'GET', path: '/agent/v1/assignments', body: 'none', handle: call => assignments(env, call) },
    { ...common, method: 'POST', path: '/agent/v1/environment', body: 'json', handle: call => environment(env, call) },
    { ...common, method: 'POST', path: '/agent/v1/logs/{id}', body: 'stream', handle: call => logs(env, call) },
    {
      ...common,
      method: 'DELETE',
      path: '/agent/v1/logs/{id}',
      body: 'none',
      handle: async call => declineLogs(env, call),
    },
    {
      method: 'POST',
      path: '/agent/v1/token',
      // The signature is the credential: a node whose token has run out must be able to come back.
      access: 'open',
      tenant: 'none',
      query: [],
      body: 'json',
      handle: call => renew(env, call),
    },
  ];
}

function nodeOf({ caller, tenant }: ApiCall): NodeIdentity {
  return { tenant, id: caller.token?.node ?? '', name: caller.token?.nodeName ?? '' };
}

function logOf({ log }: AgentEnv, { requestId }: ApiCall): Logger {
  return log.with({ requestId });
}

async function heartbeat(env: AgentEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkHeartbeat(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const node = nodeOf(call);
  const reply = await env.dispatcher.heartbeat(node, checked.value);
  if (!reply) return new RequestRejection(reject('resource_not_found', 'node', node.id));
  env.lastHeartbeatAt.set(node.id, env.clock.now());
  return replyJson(200, { ...reply, alterations: checked.alterations });
}

async function report(env: AgentEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkReportBatch(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const intake = await env.dispatcher.report(nodeOf(call), checked.value, logOf(env, call));
  if (!intake.accepted) return new RequestRejection(reject('report_not_own', 'reports', intake.replica));
  return replyJson(200, {});
}

/** The one answer with secrets in it. */
async function environment(env: AgentEnv, call: ApiCall): Promise<RouteResult> {
  const checked = checkEnvironmentRequest(call.document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const answer = await env.dispatcher.environment(nodeOf(call), checked.value, logOf(env, call));
  if (answer.kind !== 'ready') {
    return new RequestRejection(reject(toEnvironmentRefusal(answer).code, 'replica', checked.value.replica));
  }
  const values = Object.fromEntries([...answer.environment].map(([name, secret]) => [name, secret.reveal()]));
  const reply: EnvironmentReply = { environment: values };
  return replyJson(200, reply);
}

async function assignments(env: AgentEnv, call: ApiCall): Promise<RouteResult> {
  await env.cache.barrier();
  return { status: 200, type: NDJSON_TYPE, open: out => env.assignments.open(nodeOf(call), call.caller, out) };
}

async function logs(env: AgentEnv, call: ApiCall): Promise<RouteResult> {
  const id = call.params['id']!;
  const done = env.logs.deliver(id, nodeOf(call).id, call.request);
  if (!done) return new RequestRejection(reject('resource_not_found', 'id', id), { connection: 'close' });
  await done;
  return { ...replyJson(200, {}), headers: { connection: 'close' } };
}

function declineLogs(env: AgentEnv, call: ApiCall): RouteResult {
  const id = call.params['id']!;
  return env.logs.decline(id, nodeOf(call).id)
    ? replyJson(200, {})
    : new RequestRejection(reject('resource_not_found', 'id', id));
}

async function renew(env: AgentEnv, { document, request }: ApiCall): Promise<RouteResult> {
  const checked = checkRenewal(document);
  if (!checked.ok) return new RequestRejection(checked.rejections);
  const { nodeId, at, proof } = checked.value;
  if (Math.abs(env.clock.now() - at) > SKEW_SECONDS * 1000) {
    return new RequestRejection(reject('renewal_time_skewed', 'at', at, { seconds: SKEW_SECONDS }));
  }
  const entry = findNodeById(env.cache, nodeId) ?? (await env.cache.barrier(), findNodeById(env.cache, nodeId));
  const node = entry && value<StoredNode>(entry);
  if (!node || !isProofValid(formatRenewalText(nodeId, at), node.publicKey, proof)) {
    const refusal = new RequestRejection(reject('node_proof_invalid', 'proof', proof));
    return env.rateLimiter.checkFailedAuth(request.socket.remoteAddress ?? '') ?? refusal;
  }
  const identity = { id: node.id, name: node.name, tenant: node.metadata.tenant };
  const minted = mintNodeToken(env, identity, node.id);
  if (!(await storeToken(env, minted.stored)))
    return new RequestRejection(reject('node_proof_invalid', 'proof', proof));
  const reply: EnrolReply = { node: identity, token: minted.text, expiresAt: minted.stored.expiresAt };
  return replyJson(200, reply);
}
