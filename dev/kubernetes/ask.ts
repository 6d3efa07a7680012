import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';

/** How a test speaks to a cluster, whichever it is. */
export interface ClusterAccess {
  readonly url: string;
  readonly token: string;
}

interface ClusterAnswer<T> {
  readonly status: number;
  readonly body: T;
}

const JSON_TYPE = 'application/json';

/** One request to a cluster of a test, whose certificate is not looked at. */
export async function askCluster<T>(
  { url, token }: ClusterAccess,
  method: string,
  path: string,
  body?: object,
  type = method === 'PATCH' ? 'application/merge-patch+json' : JSON_TYPE,
): Promise<ClusterAnswer<T>> {
  const send = url.startsWith('https:') ? requestHttps : requestHttp;
  const headers = { authorization: `Bearer ${token}`, accept: JSON_TYPE, ...(body && { 'content-type': type }) };
  const answer = await new Promise<{ readonly status: number; readonly read: string }>((resolve, reject) => {
    // Of its own, so that nothing is sent over a connection of a server that was killed meanwhile.
    const request = send(`${url}${path}`, { method, headers, agent: false, rejectUnauthorized: false }, response => {
      text(response).then(read => resolve({ status: response.statusCode ?? 0, read }), reject);
    });
    request.once('error', reject);
    request.end(body && JSON.stringify(body));
  });
  return { status: answer.status, body: parse(answer.read) as T };
}

function parse(read: string): unknown {
  try {
    return JSON.parse(read) as unknown;
  } catch {
    return read; // such as what /readyz says
  }
}
