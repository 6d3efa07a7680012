import { listChangedFields } from '../../crds/kind/index.js';
import type { ObjectNotes } from '../../crds/meta/index.js';
import { redactReceived, reject } from '../../crds/rejections/index.js';
import { type Fields, isFields } from '../http/body.js';
import { rejectRequest, RequestRejection, type WholeReply } from '../http/reply.js';
import type { ApiCall, RouteResult } from '../http/route.js';
import { readObject, toChange, toDocument, type WrittenObject } from './documents.js';
import type { Owner } from './field-owners.js';
import { type KeptNotes, listNextOwners, readManagerName, readNotes } from './notes.js';
import type { OwnView } from './objects.js';
import { callOwn, storeNotes, type OwnWriteEnv } from './own-writes.js';
import { applyMergePatch, applyPatchSteps } from './patch.js';
import { findRendered, replyObject, type ReadTarget } from './read.js';
import type { KubernetesBody } from './request.js';
import { isSameState } from './resource-version.js';
import { toStatusSubject } from './served.js';
import { ConflictRejection, ObjectRejection } from './status.js';
import type { RenderedObject } from './table.js';
import { answerWritten } from './written.js';

function readBody({ document }: ApiCall): KubernetesBody {
  return document as KubernetesBody;
}

/** Creates an object. */
export async function createObject(env: OwnWriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { kind } = target.served.reader;
  const { type, content } = readBody(call);
  if (type !== 'application/json') return refuseType(type);
  const sent = readObject(kind, content, { namespace: target.tenant });
  if (sent instanceof RequestRejection) return new ObjectRejection(sent, toStatusSubject(target.served));
  return createWritten(env, call, target, sent);
}

/** Creates an object; `owners` are those of its fields, where they are kept. */
export async function createWritten(
  env: OwnWriteEnv,
  call: ApiCall,
  target: ReadTarget,
  sent: WrittenObject,
  owners?: readonly Owner[],
): Promise<RouteResult> {
  const { kind } = target.served.reader;
  const notes = readNotes(kind, sent, { owners });
  const own = { operation: 'create', document: toDocument(kind, sent), notes } as const;
  const reply = await callOwn(env, call, target, own);
  if (reply instanceof RequestRejection) return reply;
  return answerWritten(env, call, target, reply, { status: 201, toNotes: notes.toNotes });
}

/** Replaces an object: what it does not hold is removed. */
export async function replaceObject(env: OwnWriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { type, content } = readBody(call);
  if (type !== 'application/json') return refuseType(type);
  return changeObject(env, call, target, () => content);
}

/** Changes an object by a patch. */
export async function patchObject(env: OwnWriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
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

function refuseType(type: string): RequestRejection {
  return rejectRequest('media_type_unsupported', 'Content-Type', type);
}

const ATTEMPTS = 5;

/** An object as a client wants it to be, and the owners of its fields where those follow from more than what differs. */
export interface NextObject {
  readonly object: unknown;
  readonly owners?: readonly Owner[];
}

/** Makes an object into what `toNext` gives for it, unless it has changed since the version that the client names. */
export function changeObject(
  env: OwnWriteEnv,
  call: ApiCall,
  target: ReadTarget,
  toNext: (object: object) => unknown,
): Promise<RouteResult> {
  return changeRendered(env, call, target, ({ object }) => {
    const next = toNext(object);
    return next instanceof RequestRejection ? next : { object: next };
  });
}

/** The same, by all that is shown of the object. */
export async function changeRendered(
  env: OwnWriteEnv,
  call: ApiCall,
  target: ReadTarget,
  toNext: (rendered: RenderedObject) => NextObject | RequestRejection,
): Promise<RouteResult> {
  const name = call.params['name']!;
  const { kind } = target.served.reader;
  const subject = toStatusSubject(target.served, name);
  const manager = readManagerName(call);
  if (manager instanceof RequestRejection) return manager;
  for (let attempt = 1; ; attempt++) {
    const rendered = await findRendered(env, target, name);
    if (!rendered) return new ObjectRejection(rejectRequest('resource_not_found', 'name', name), subject);
    const next = toNext(rendered);
    if (next instanceof ConflictRejection) return next;
    if (next instanceof RequestRejection) return new ObjectRejection(next, subject);
    const sent = readObject(kind, next.object, { namespace: target.tenant, name });
    if (sent instanceof RequestRejection) return new ObjectRejection(sent, subject);
    const outdated = checkSeen(sent, rendered);
    if (outdated) return new ObjectRejection(outdated, subject);
    const at = new Date(env.clock.now()).toISOString();
    const owners = next.owners ?? listNextOwners(kind, rendered.view as OwnView, sent, { name: manager, at });
    const stored = readObject(kind, rendered.object, { namespace: target.tenant }) as WrittenObject;
    const { fieldOwners: recorded } = (rendered.view as OwnView)['metadata'] as ObjectNotes;
    const notes = readNotes(kind, sent, { stored, owners, recorded });
    const change = toChange(toDocument(kind, stored), toDocument(kind, sent));
    const reply = await storeChange(env, call, target, rendered.view as OwnView, { change, notes });
    const isOvertaken = reply instanceof RequestRejection && reply.rejections[0].code === 'revision_mismatch';
    // A client that names no version wants its change whatever the object is meanwhile.
    if (isOvertaken && attempt < ATTEMPTS && namesNone(sent, rendered)) continue;
    if (reply instanceof RequestRejection) return reply;
    return answerWritten(env, call, target, reply, { status: 200, toNotes: notes.toNotes });
  }
}

function namesNone({ resourceVersion }: WrittenObject, { object }: RenderedObject): boolean {
  return resourceVersion === undefined || resourceVersion === object.metadata.resourceVersion;
}

/** Refuses an object that was read at another version than the stored one. */
function checkSeen({ resourceVersion }: WrittenObject, { object }: RenderedObject): RequestRejection | undefined {
  if (resourceVersion === undefined) return undefined;
  if (isSameState(resourceVersion, object.metadata.resourceVersion)) return undefined;
  const current = object.metadata.resourceVersion;
  return rejectRequest('revision_mismatch', 'metadata.resourceVersion', resourceVersion, { current });
}

/** What becomes of an object that is stored. */
interface ObjectChange {
  /** As our own API takes it. */
  readonly change: Fields;
  readonly notes: KeptNotes;
}

async function storeChange(
  env: OwnWriteEnv,
  call: ApiCall,
  target: ReadTarget,
  view: OwnView,
  { change, notes }: ObjectChange,
): Promise<WholeReply | RequestRejection> {
  const { kind } = target.served.reader;
  const name = call.params['name']!;
  const { revision } = view['metadata'] as { readonly revision: string };
  const own = { name, document: change, ifMatch: `"${revision}"`, notes };
  const changed = listChangedFields(kind);
  if (changed === 'all') return callOwn(env, call, target, { operation: 'update', ...own });
  const [field] = Object.keys(change);
  if (field === undefined) return storeNotes(env, call, target, view, notes);
  const isPatched = changed.length > 0 && changed.every(each => Object.hasOwn(change, each));
  if (isPatched) return callOwn(env, call, target, { operation: 'patch', ...own });
  const refused = reject('field_immutable', field, '', { current: 'what is stored' });
  // It may hold values of secrets, which nothing has taken out yet.
  const redacted = new RequestRejection(redactReceived(refused, change[field]));
  return new ObjectRejection(redacted, toStatusSubject(target.served, name));
}

/** Asks for the deletion of an object. It is shown, marked, until everything that it stood for is gone. */
export async function removeObject(env: OwnWriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const name = call.params['name']!;
  const subject = toStatusSubject(target.served, name);
  const rendered = await findRendered(env, target, name);
  if (!rendered) return new ObjectRejection(rejectRequest('resource_not_found', 'name', name), subject);
  const { content } = readBody(call);
  const options = isFields(content) ? content : {};
  const { uid, resourceVersion } = isFields(options['preconditions']) ? options['preconditions'] : {};
  const current = rendered.object.metadata;
  const isOther =
    (uid !== undefined && uid !== current.uid) ||
    (resourceVersion !== undefined && !isSameState(resourceVersion, current.resourceVersion));
  if (isOther) {
    const refused = rejectRequest('revision_mismatch', 'preconditions', resourceVersion ?? uid, {
      current: current.resourceVersion,
    });
    return new ObjectRejection(refused, subject);
  }
  const isDryRun = call.isDryRun || (Array.isArray(options['dryRun']) && options['dryRun'].includes('All'));
  const reply = await callOwn(env, { ...call, isDryRun }, target, { operation: 'delete', name });
  if (reply instanceof RequestRejection) return reply;
  const left = isDryRun ? rendered : await findRendered(env, target, name);
  if (left && left.object.metadata.uid === current.uid) return replyObject(200, left.object);
  const details = { name, group: subject.group, kind: subject.resource, uid: current.uid };
  return replyObject(200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
}
