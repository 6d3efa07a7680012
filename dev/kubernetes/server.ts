import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

import { applyMergePatch, applyPatchSteps } from '../../api/k8s/patch.js';
import { DEFINITIONS, discover } from './discovery.js';
import { Objects, type ResourcePlace, StatusError, type StoredObject } from './objects.js';
import { readTarget, readSelection, type Target } from './request.js';
import { answerWatch } from './watch.js';

/** One request, as hooks see it. */
export interface KubernetesCall extends Target {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface FakeKubernetesOptions {
  /** The bearer token that requests must have. Default: none is asked for. */
  readonly token?: string;
  /** Plurals whose objects are marked first when they are deleted, and end by a second deletion without grace: pods. */
  readonly graceful?: readonly string[];
  /**
   * Sees each call first. It may answer itself, such as `pods/log`, throw a `StatusError`, or have the connection cut (`'cut'`) to be a
   * cluster that cannot be reached.
   */
  readonly intercept?: (call: KubernetesCall) => CallAnswer | undefined | Promise<CallAnswer | undefined>;
}

/** `'cut'` ends the connection without an answer; `'cut-after'` carries the call out first. */
export type CallAnswer = 'cut' | 'cut-after' | ((response: ServerResponse) => void);

/** A stand-in of the Kubernetes API over HTTP: any resource, without schemas, admission and roles. */
export class FakeKubernetes {
  readonly objects = new Objects();
  /** May be replaced while it runs. */
  intercept: FakeKubernetesOptions['intercept'];
  url = '';
  #port = 0;
  readonly #options: FakeKubernetesOptions;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(options: FakeKubernetesOptions = {}) {
    this.#options = options;
    this.intercept = options.intercept;
  }

  /** Starts it, after `stop` at the same address and with what it had. */
  async start(): Promise<this> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.#port}`;
    return this;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Ends every connection: watches have to begin again. */
  cutConnections(): void {
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let target: Target | undefined;
    try {
      const { pathname, searchParams: query } = new URL(request.url ?? '/', this.url);
      const { token } = this.#options;
      if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
        throw new StatusError(401, 'Unauthorized', 'Unauthorized');
      }
      const text = await buffer(request);
      target = readTarget(pathname);
      if (!target) {
        const found = discover(pathname, this.objects.list(DEFINITIONS));
        if (!found) throw new StatusError(404, 'NotFound', `nothing is served at ${pathname}`);
        return reply(response, 200, found);
      }
      const body: unknown = text.length === 0 ? undefined : JSON.parse(text.toString());
      const call: KubernetesCall = { ...target, method: request.method ?? 'GET', query, body };
      const taken = await this.intercept?.(call);
      if (taken === 'cut') return void response.destroy();
      if (typeof taken === 'function') return taken(response);
      this.#carryOut(call, request.headers['content-type'] ?? '', taken === 'cut-after' ? undefined : response);
      if (taken === 'cut-after') response.destroy();
    } catch (error) {
      if (response.headersSent) return void response.destroy();
      const known = error instanceof StatusError ? error : new StatusError(500, 'InternalError', String(error));
      const { code, reason, message } = known;
      const details = target && { name: target.name, group: target.group, kind: target.plural };
      reply(response, code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message, details });
    }
  }

  #carryOut(call: KubernetesCall, type: string, response: ServerResponse | undefined): void {
    const { method, name, query } = call;
    const { objects } = this;
    const answer = (status: number, object: object) => {
      if (response) reply(response, status, object);
    };
    const present = (object: StoredObject) => complete(call, object);
    if (method === 'GET' && name !== undefined) return answer(200, present(objects.get(call, name)));
    if (method === 'GET') {
      const isSelected = readSelection(query);
      if (['1', 'true'].includes(query.get('watch') ?? '') && response) {
        return answerWatch(objects, response, { place: call, query, isSelected, present });
      }
      return answer(200, formatList(call, objects.list(call).filter(isSelected).map(present), objects.revision));
    }
    const isDry = query.get('dryRun') === 'All';
    if (method === 'POST') {
      const sent = call.body as StoredObject;
      return answer(201, isDry ? sent : present(objects.create(toPlace(call), readSecret(call, sent))));
    }
    if (method === 'DELETE') return this.#delete(call, answer);
    if (name === undefined || !['PUT', 'PATCH'].includes(method)) {
      throw new StatusError(405, 'MethodNotAllowed', `${method} is not allowed here`);
    }
    const part = call.subresource === 'status' ? 'status' : 'object';
    if (method === 'PUT') {
      return answer(200, present(objects.replace(call, name, readSecret(call, call.body as StoredObject), part)));
    }
    const isApply = type.startsWith('application/apply-patch');
    if (isApply && !objects.find(call, name)) {
      return answer(201, present(objects.create(toPlace(call), call.body as StoredObject)));
    }
    const patched = applyPatch(type, objects.get(call, name), call.body);
    answer(200, present(objects.replace(call, name, readSecret(call, patched), part)));
  }

  #delete(call: KubernetesCall, answer: (status: number, object: object) => void): void {
    const { name, query, plural } = call;
    const { preconditions, gracePeriodSeconds } = (call.body ?? {}) as {
      preconditions?: { uid?: string; resourceVersion?: string };
      gracePeriodSeconds?: number;
    };
    const isGraceful = this.#options.graceful?.includes(plural) ?? false;
    const grace = Number(gracePeriodSeconds ?? query.get('gracePeriodSeconds') ?? 30);
    const remove = (object: StoredObject) =>
      this.objects.delete(
        { ...call, namespace: object.metadata.namespace ?? '' },
        object.metadata.name,
        isGraceful ? grace : 0,
      );
    if (name === undefined) {
      const removed = this.objects.list(call).filter(readSelection(query)).map(remove);
      return answer(200, formatList(call, removed, this.objects.revision));
    }
    const { uid, resourceVersion } = this.objects.get(call, name).metadata;
    if (
      (preconditions?.uid ?? uid) !== uid ||
      (preconditions?.resourceVersion ?? resourceVersion) !== resourceVersion
    ) {
      throw new StatusError(409, 'Conflict', `${plural} "${name}": the precondition does not hold`);
    }
    answer(200, complete(call, remove(this.objects.get(call, name))));
  }
}

function applyPatch(type: string, object: StoredObject, patch: unknown): StoredObject {
  if (!type.startsWith('application/json-patch')) return applyMergePatch(object, patch) as StoredObject;
  const patched = applyPatchSteps(object, patch);
  if (!patched) throw new StatusError(422, 'Invalid', 'the patch does not fit the object');
  return patched.document as StoredObject;
}

/** `stringData` of a secret is stored as `data`. */
function readSecret({ group, plural }: ResourcePlace, sent: StoredObject): StoredObject {
  if (group !== '' || plural !== 'secrets' || sent['stringData'] === undefined) return sent;
  const { stringData, ...rest } = sent;
  const given = Object.entries(stringData as Record<string, string>);
  const data = Object.fromEntries(given.map(([name, value]) => [name, Buffer.from(value).toString('base64')]));
  return { ...rest, data: { ...(sent['data'] as object | undefined), ...data } } as StoredObject;
}

/** The namespace of a new object is that of the path. */
function toPlace({ group, version, plural, namespace }: ResourcePlace): ResourcePlace {
  return { group, version, plural, namespace };
}

function complete({ group, version }: ResourcePlace, object: StoredObject): object {
  return { apiVersion: group === '' ? version : `${group}/${version}`, ...object };
}

function formatList({ group, version }: ResourcePlace, items: readonly object[], revision: number): object {
  const apiVersion = group === '' ? version : `${group}/${version}`;
  return { kind: 'List', apiVersion, metadata: { resourceVersion: String(revision) }, items };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
