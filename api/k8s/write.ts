import type { IncomingMessage } from 'node:http';

import type { KindOperation } from '../../crds/kind/index.js';
import type { Alteration, Warning } from '../../crds/rule/index.js';
import { checkAccess } from '../access/authorise.js';
import { type Headers, rejectRequest, RequestRejection, type WholeReply } from '../http/reply.js';
import type { ApiCall, Route, RouteResult } from '../http/route.js';
import { readObject, toChange, toDocument, type WrittenObject } from './documents.js';
import { type OwnView, toObject } from './objects.js';
import { isFields } from '../admission/submitted.js';
import { applyMergePatch, applyPatchSteps } from './patch.js';
import { findShown, type ReadEnv, replyObject, type ReadTarget } from './read.js';
import type { KubernetesBody } from './request.js';
import { formatVersion, parseVersion } from './resource-version.js';
import { toStatusSubject } from './served.js';
import { ObjectRejection } from './status.js';
import type { Shown } from './table.js';

/** What objects are written with: the routes of our own API, which judge and store everything. */
export interface WriteEnv extends ReadEnv {
  readonly findRoute: (target: ReadTarget, operation: KindOperation) => Route;
}

/** What our own API answers to a write. */
interface OwnAnswer extends OwnView {
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}

interface DryRunAnswer extends OwnAnswer {
  readonly object: OwnView | null;
}

/** How a write of our own API is called. */
interface OwnWrite {
  readonly operation: KindOperation;
  readonly name?: string;
  readonly document?: unknown;
  /** The revision that must be stored. */
  readonly ifMatch?: string;
}

/** A call of our own API in the place of one of the face: with the same caller, rights, limits and request. */
async function write(
  env: WriteEnv,
  call: ApiCall,
  target: ReadTarget,
  own: OwnWrite,
): Promise<WholeReply | RequestRejection> {
  const { operation, name, document, ifMatch } = own;
  const route = env.findRoute(target, operation);
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
  });
  if (reply instanceof RequestRejection)
    return new ObjectRejection(reply, toStatusSubject(target.served, name ?? readName(document)));
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

function readBody({ document }: ApiCall): KubernetesBody {
  return document as KubernetesBody;
}

/** Creates an object. */
export async function createObject(env: WriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { kind } = target.served.reader;
  const { type, content } = readBody(call);
  if (type !== 'application/json') return refuseType(type);
  const sent = readObject(kind, content, { namespace: target.tenant });
  if (sent instanceof RequestRejection) return new ObjectRejection(sent, toStatusSubject(target.served));
  const reply = await write(env, call, target, { operation: 'create', document: toDocument(kind, sent) });
  return reply instanceof RequestRejection ? reply : answer(env, call, target, reply, { status: 201, sent });
}

/** Replaces an object: what it does not hold is removed. */
export async function replaceObject(env: WriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { type, content } = readBody(call);
  if (type !== 'application/json') return refuseType(type);
  return changeObject(env, call, target, () => content);
}

/** Changes an object by a patch. */
export async function patchObject(env: WriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { type, content } = readBody(call);
  const toPatched = PATCHES[type];
  if (!toPatched) return refuseType(type);
  return changeObject(env, call, target, object => toPatched(object, content));
}

const PATCHES: Readonly<Record<string, ((object: object, patch: unknown) => unknown) | undefined>> = {
  'application/merge-patch+json': applyMergePatch,
  // kubectl patch sends this by default. Our lists are replaced whole, so it means the same.
  'application/strategic-merge-patch+json': applyMergePatch,
  'application/json-patch+json': (object, steps) => {
    const patched = applyPatchSteps(object, steps);
    return patched
      ? patched.document
      : rejectRequest('field_invalid', '', '', { wanted: 'a JSON Patch that fits the object' });
  },
};

const SERVER_SIDE =
  'server-side apply is not offered, since owners of fields are not kept: apply without --server-side';

function refuseType(type: string): RequestRejection {
  const isApply = type === 'application/apply-patch+yaml';
  return rejectRequest('media_type_unsupported', 'Content-Type', isApply ? `${type} (${SERVER_SIDE})` : type);
}

const ATTEMPTS = 5;

/** Makes an object into what `toNext` gives for it, unless it has changed since the version that the client names. */
export async function changeObject(
  env: WriteEnv,
  call: ApiCall,
  target: ReadTarget,
  toNext: (object: object) => unknown,
): Promise<RouteResult> {
  const name = call.params['name']!;
  const subject = toStatusSubject(target.served, name);
  for (let attempt = 1; ; attempt++) {
    const shown = await findShown(env, target, name);
    if (!shown) return new ObjectRejection(rejectRequest('resource_not_found', 'name', name), subject);
    const next = toNext(shown.object);
    if (next instanceof RequestRejection) return new ObjectRejection(next, subject);
    const sent = readObject(target.served.reader.kind, next, { namespace: target.tenant, name });
    if (sent instanceof RequestRejection) return new ObjectRejection(sent, subject);
    const outdated = checkSeen(sent, shown);
    if (outdated) return new ObjectRejection(outdated, subject);
    const reply = await storeChange(env, call, target, shown, sent);
    const isOvertaken = reply instanceof RequestRejection && reply.rejections[0].code === 'revision_mismatch';
    // A client that names no version wants its change whatever the object is meanwhile.
    if (isOvertaken && attempt < ATTEMPTS && namesNone(sent, shown)) continue;
    return reply instanceof RequestRejection ? reply : answer(env, call, target, reply, { status: 200, sent });
  }
}

function namesNone({ resourceVersion }: WrittenObject, { object }: Shown): boolean {
  return resourceVersion === undefined || resourceVersion === object.metadata.resourceVersion;
}

/** Refuses an object that was read at another version than the stored one. */
function checkSeen({ resourceVersion }: WrittenObject, { object }: Shown): RequestRejection | undefined {
  if (resourceVersion === undefined) return undefined;
  const seen = parseVersion(resourceVersion);
  const stored = parseVersion(object.metadata.resourceVersion);
  if (seen?.revision === stored?.revision && seen?.epoch === stored?.epoch) return undefined;
  const current = object.metadata.resourceVersion;
  return rejectRequest('revision_mismatch', 'metadata.resourceVersion', resourceVersion, { current });
}

async function storeChange(
  env: WriteEnv,
  call: ApiCall,
  target: ReadTarget,
  { object, view }: Shown,
  sent: WrittenObject,
): Promise<WholeReply | RequestRejection> {
  const { kind } = target.served.reader;
  const stored = readObject(kind, object, { namespace: target.tenant }) as WrittenObject;
  const document = toChange(toDocument(kind, stored), toDocument(kind, sent));
  const { revision } = (view as { readonly metadata: { readonly revision: string } }).metadata;
  if (kind.operations.includes('update')) {
    return write(env, call, target, { operation: 'update', name: sent.name, document, ifMatch: `"${revision}"` });
  }
  if (Object.keys(document).length === 0) return replyOwn(view);
  const fields = Object.keys(document);
  const refusals = rejectRequest('field_immutable', fields[0]!, document[fields[0]!], { current: 'what is stored' });
  return new ObjectRejection(refusals, toStatusSubject(target.served, sent.name));
}

function replyOwn(view: unknown): WholeReply {
  return { status: 200, type: 'application/json', body: Buffer.from(JSON.stringify(view)) };
}

/** Asks for the deletion of an object. It is shown, marked, until everything that it stood for is gone. */
export async function removeObject(env: WriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const name = call.params['name']!;
  const subject = toStatusSubject(target.served, name);
  const shown = await findShown(env, target, name);
  if (!shown) return new ObjectRejection(rejectRequest('resource_not_found', 'name', name), subject);
  const { content } = readBody(call);
  const options = isFields(content) ? content : {};
  const { uid, resourceVersion } = isFields(options['preconditions']) ? options['preconditions'] : {};
  const current = shown.object.metadata;
  const isOther =
    (uid !== undefined && uid !== current.uid) ||
    (resourceVersion !== undefined && resourceVersion !== current.resourceVersion);
  if (isOther) {
    const seen = String(resourceVersion ?? uid);
    const refused = rejectRequest('revision_mismatch', 'preconditions', seen, { current: current.resourceVersion });
    return new ObjectRejection(refused, subject);
  }
  const isDryRun = call.isDryRun || (Array.isArray(options['dryRun']) && options['dryRun'].includes('All'));
  const reply = await write(env, { ...call, isDryRun }, target, { operation: 'delete', name });
  if (reply instanceof RequestRejection) return reply;
  const left = isDryRun ? shown : await findShown(env, target, name);
  if (left && left.object.metadata.uid === current.uid) return replyObject(200, left.object);
  const details = { name, group: subject.group, kind: subject.resource, uid: current.uid };
  return replyObject(200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
}

/** The object as it is stored now, or as it would be, with what the server has to remark. */
async function answer(
  env: WriteEnv,
  call: ApiCall,
  target: ReadTarget,
  reply: WholeReply,
  { status, sent }: { readonly status: number; readonly sent: WrittenObject },
): Promise<RouteResult> {
  const body = Buffer.isBuffer(reply.body) ? reply.body : Buffer.concat(reply.body as readonly Buffer[]);
  const own = JSON.parse(body.toString()) as OwnAnswer;
  const headers = toWarningHeader(own, sent.isAnnotated ? [NOT_ANNOTATED] : []);
  const more = { ...(reply.alterations && { alterations: reply.alterations }) };
  if (call.isDryRun)
    return { ...replyObject(status, await toTried(env, target, own as DryRunAnswer), headers), ...more };
  const { kind } = target.served.reader;
  const name = String(own[kind.nameField]);
  const shown = await findShown(env, target, name);
  return { ...replyObject(status, shown?.object ?? toWritten(env, target, own), headers), ...more };
}

/** An object that was gone again before it could be read. */
function toWritten(env: WriteEnv, { served }: ReadTarget, own: OwnView): object {
  const { alterations: _alterations, warnings: _warnings, ...view } = own;
  const { revision } = own['metadata'] as { readonly revision: string };
  return toObject(served.reader.kind, view, formatVersion(Number(revision), env.watchHub.history.epoch));
}

/** The object that a dry run describes: with the identity of the stored one, where there is one. */
async function toTried(env: WriteEnv, target: ReadTarget, { object }: DryRunAnswer): Promise<object> {
  const { kind } = target.served.reader;
  const name = readName({ name: object?.[kind.nameField] });
  const stored = await findShown(env, target, name);
  const now = new Date(env.clock.now()).toISOString();
  const known = stored && (stored.view as { readonly metadata: object; readonly status?: unknown });
  const metadata = known?.metadata ?? { tenant: target.tenant, generation: 1, createdAt: now };
  const view = { ...object, metadata, ...(known && { status: known.status }) };
  return toObject(kind, view, stored?.object.metadata.resourceVersion ?? '');
}

const NOT_ANNOTATED =
  'annotations are not stored: a field that is left out of a file stays as it is, and null removes it';
const WARNINGS_MAX = 4_000;

/** What kubectl prints above its result: remarks, and what was changed of what was sent. Defaults show in the object. */
function toWarningHeader({ alterations = [], warnings = [] }: OwnAnswer, remarks: readonly string[]): Headers {
  const texts = [
    ...remarks,
    ...alterations
      .filter(({ from }) => from !== null && from !== undefined)
      .map(({ field, to, why }) => `${field} is stored as ${JSON.stringify(to)}: ${why}`),
    ...warnings.map(({ code, field, message }) => `${field === '' ? '' : `${field}: `}${message} (${code})`),
  ];
  if (texts.length === 0) return {};
  let header = '';
  for (const text of texts) {
    // Headers are ASCII, and a text ends at the next quotation mark.
    const plain = text
      .replaceAll('’', "'")
      .replace(/[^ -~]/g, '?')
      .replace(/["\\]/g, '\\$&');
    const next = `${header === '' ? '' : ', '}299 - "${plain}"`;
    if (header.length + next.length > WARNINGS_MAX) break;
    header += next;
  }
  return { warning: header };
}
