import { WHOLE_LOG } from '../../pkg/link/index.js';
import { rejectParameter } from '../http/query.js';
import { rejectRequest, RequestRejection } from '../http/reply.js';
import type { ApiCall, Route, RouteResult } from '../http/route.js';
import { CONTAINER, parsePodName } from './pods.js';
import { findRendered, type ReadEnv, type ReadTarget } from './read.js';
import { readSwitch } from './request.js';
import { toStatusSubject } from './served.js';
import { ObjectRejection } from './status.js';

/** Reads the log of a pod: `route` is the one of our own API that reads the log of a replica. */
export async function readPodLog(env: ReadEnv, call: ApiCall, target: ReadTarget, route: Route): Promise<RouteResult> {
  const name = call.params['name']!;
  const subject = toStatusSubject(target.served, name);
  const pod = parsePodName(name);
  if (!pod || !(await findRendered(env, target, name))) {
    return new ObjectRejection(rejectRequest('resource_not_found', 'name', name), subject);
  }
  const query = toOwnQuery(call, pod.replica);
  if (query instanceof RequestRejection) return query;
  const headers = { ...call.request.headers, accept: 'text/plain' };
  const reply = await route.handle({
    ...call,
    request: Object.create(call.request, { headers: { value: headers } }) as ApiCall['request'],
    tenant: target.tenant,
    params: { name: pod.deployment },
    query,
  });
  return reply instanceof RequestRejection ? new ObjectRejection(reply, subject) : reply;
}

/** The parameters of our own route for those that Kubernetes' clients send. */
function toOwnQuery({ query }: ApiCall, replica: number): ReadonlyMap<string, string> | RequestRejection {
  const own = new Map([['replica', String(replica)]]);
  const container = query.get('container') ?? CONTAINER;
  if (container !== CONTAINER) return rejectParameter('container', container, `${CONTAINER}, the only one of a pod`);
  for (const name of ['timestamps', 'limitBytes']) {
    const text = query.get(name) ?? '';
    if (text !== '' && text !== 'false') {
      return rejectParameter(name, text, 'no such parameter: lines come as they were written, and whole (see --tail)');
    }
  }
  for (const name of ['follow', 'previous']) {
    const isOn = readSwitch(query, name);
    if (isOn instanceof RequestRejection) return isOn;
    if (isOn) own.set(name, 'true');
  }
  const tail = query.get('tailLines');
  if (tail !== undefined) {
    if (!/^\d{1,18}$/.test(tail)) return rejectParameter('tailLines', tail, 'a number of lines');
    if (Number(tail) < WHOLE_LOG) own.set('tail', String(Number(tail)));
  }
  const seconds = query.get('sinceSeconds');
  if (seconds !== undefined && !/^[1-9]\d{0,8}$/.test(seconds)) {
    return rejectParameter('sinceSeconds', seconds, 'a number of seconds');
  }
  const since = seconds === undefined ? query.get('sinceTime') : `${seconds}s`;
  if (since !== undefined) own.set('since', since);
  return own;
}
