import type { IncomingMessage } from 'node:http';

import { buildKey } from '../../crds/keys/index.js';
import type { KindOperation } from '../../crds/kind/index.js';
import { BrokenInvariantFault } from '../../pkg/fault/index.js';
import { findRecordFault, type Put } from '../../pkg/store/index.js';
import { checkAccess } from '../access/authorise.js';
import { putNotes } from '../write/metadata.js';
import { isFields } from '../http/body.js';
import { rejectRequest, RequestRejection, type WholeReply } from '../http/reply.js';
import type { ApiCall, Route } from '../http/route.js';
import { write, type WriteEnv } from '../write/write.js';
import type { KeptNotes } from './notes.js';
import type { OwnView } from './objects.js';
import type { ReadEnv, ReadTarget } from './read.js';
import { toStatusSubject } from './served.js';
import { ObjectRejection } from './status.js';

/** What objects are written with: the routes of our own API, which judge and store everything. */
export interface OwnWriteEnv extends ReadEnv, WriteEnv {
  readonly findRoute: (target: ReadTarget, operation: KindOperation) => Route;
  /** The route that changes some fields of an object, where none changes all of them. */
  readonly findPatch: (target: ReadTarget) => Route | undefined;
}

/** How a write of our own API is called. */
export interface OwnWrite {
  readonly operation: KindOperation | 'patch';
  readonly name?: string;
  readonly document?: unknown;
  /** The revision that must be stored. */
  readonly ifMatch?: string;
  readonly notes?: KeptNotes;
}

/** A call of our own API in the place of one of the face: with the same caller, rights, limits and request. */
export async function callOwn(
  env: OwnWriteEnv,
  call: ApiCall,
  target: ReadTarget,
  own: OwnWrite,
): Promise<WholeReply | RequestRejection> {
  const { operation, name, document, ifMatch, notes } = own;
  const [refused, ...more] = notes?.rejections ?? [];
  const route = operation === 'patch' ? env.findPatch(target) : env.findRoute(target, operation);
  if (!route) throw new BrokenInvariantFault(`${target.served.plural} cannot be patched`);
  const forbidden = checkAccess(call.caller, route.access);
  if (forbidden) return forbidden;
  const parameter = /\{([^}]*)\}/.exec(route.path)?.[1];
  const reply = await route.handle({
    ...call,
    request: withIfMatch(call.request, ifMatch),
    tenant: target.tenant,
    params: parameter === undefined || name === undefined ? {} : { [parameter]: name },
    query: new Map(),
    document,
    ...(notes && { toNotes: notes.toNotes }),
    // What is wrong with the document is said first.
    isDryRun: call.isDryRun || refused !== undefined,
  });
  const subject = toStatusSubject(target.served, name ?? readName(document));
  if (reply instanceof RequestRejection) return new ObjectRejection(reply, subject);
  if (refused) return new ObjectRejection(new RequestRejection([refused, ...more]), subject);
  if (!('body' in reply)) throw new TypeError(`${route.method} ${route.path} does not answer whole`);
  return reply;
}

function readName(document: unknown): string {
  const name = isFields(document) ? document['name'] : undefined;
  return typeof name === 'string' ? name : '';
}

/** The request with another precondition: Kubernetes' clients send theirs in the object. */
function withIfMatch(request: IncomingMessage, ifMatch: string | undefined): IncomingMessage {
  const { 'if-match': _sent, ...headers } = request.headers;
  const value = ifMatch === undefined ? headers : { ...headers, 'if-match': ifMatch };
  return Object.create(request, { headers: { value } }) as IncomingMessage;
}

/** Stores what is kept beside an object that our API does not change otherwise. */
export async function storeNotes(
  env: OwnWriteEnv,
  call: ApiCall,
  { served, tenant }: ReadTarget,
  view: OwnView,
  { toNotes, rejections: [refused, ...more] }: KeptNotes,
): Promise<WholeReply | RequestRejection> {
  const { kind } = served.reader;
  const subject = toStatusSubject(served, String(view[kind.nameField]));
  if (refused) return new ObjectRejection(new RequestRejection([refused, ...more]), subject);
  const { revision } = view['metadata'] as { readonly revision: string };
  const key = buildKey(kind, tenant, String(view[kind.keyParts?.at(-1) ?? '']));
  const request = withIfMatch(call.request, `"${revision}"`);
  const reply = await write<OwnWriteEnv, undefined, Put | null>(
    env,
    { ...call, request, tenant },
    {
      name: kind.singular,
      find: ({ cache }) => cache.get(key),
      judge: ({ stored }) => {
        const fault = findRecordFault(stored!);
        if (fault === undefined) return putNotes(stored!, toNotes(view)) ?? null;
        const current = `what is stored, which cannot be worked with (${fault})`;
        return rejectRequest('field_immutable', 'metadata.annotations', '', { current });
      },
      plan: (_given, noted) => ({ before: view, after: view, ...(noted && { record: noted }) }),
      show: () => view,
    },
  );
  if (reply instanceof RequestRejection) return new ObjectRejection(reply, subject);
  return reply as WholeReply;
}
