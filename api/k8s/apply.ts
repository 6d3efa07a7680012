import { isFields } from '../http/body.js';
import { rejectParameter } from '../http/query.js';
import { rejectRequest, RequestRejection } from '../http/reply.js';
import type { ApiCall, RouteResult } from '../http/route.js';
import { readObject, type WrittenObject } from './documents.js';
import { applyFields, type FieldConflict } from './field-owners.js';
import { type FieldTree, listLeaves } from './fields.js';
import { readManagerName, toSentTree } from './notes.js';
import { listOwners, type OwnView, toFieldTree } from './objects.js';
import type { OwnWriteEnv } from './own-writes.js';
import { findRendered, type ReadTarget } from './read.js';
import { type KubernetesBody, readSwitch } from './request.js';
import { toStatusSubject } from './served.js';
import { ConflictRejection, ObjectRejection, type StatusConflict } from './status.js';
import type { RenderedObject } from './table.js';
import { changeRendered, createWritten } from './write.js';

const ATTEMPTS = 5;

/**
 * Server-side apply: an object is what its manager says of it, over what others have said. It is made when there is none.
 * What comes of it is judged and stored as every other write.
 */
export async function applyObject(env: OwnWriteEnv, call: ApiCall, target: ReadTarget): Promise<RouteResult> {
  const { kind } = target.served.reader;
  const name = call.params['name']!;
  const subject = toStatusSubject(target.served, name);
  const managerName = readManagerName(call);
  if (managerName instanceof RequestRejection) return managerName;
  if (!call.query.get('fieldManager')) return rejectParameter('fieldManager', '', 'the name of the one who applies');
  const force = readSwitch(call.query, 'force');
  if (force instanceof RequestRejection) return force;
  const { content } = call.document as KubernetesBody;
  const sent = readApplied(readObject(kind, content, { namespace: target.tenant, name }), content);
  if (sent instanceof RequestRejection) return new ObjectRejection(sent, subject);
  const said = toSentTree(sent);
  const manager = { name: managerName, operation: 'Apply', at: new Date(env.clock.now()).toISOString() } as const;

  for (let attempt = 1; ; attempt++) {
    if (await findRendered(env, target, name)) {
      return changeRendered(env, call, target, ({ object, view }) => {
        const live = toFieldTree(kind, view as OwnView, object.metadata.annotations);
        const owners = listOwners(kind, view as OwnView);
        const applied = applyFields({ live, owners, sent: said, manager, force });
        if (!applied.ok) return rejectConflicts(applied.conflicts);
        return { object: toApplied(object, applied.tree, sent), owners: applied.owners };
      });
    }
    const owners = [{ manager, pointers: new Set(listLeaves(said).keys()) }];
    const created = await createWritten(env, call, target, sent, owners);
    const isOvertaken = created instanceof RequestRejection && created.rejections[0].code.endsWith('_already_exists');
    if (!isOvertaken || attempt === ATTEMPTS) return created;
  }
}

/** What is applied says who has set what: it must not say it of others. */
function readApplied(sent: WrittenObject | RequestRejection, content: unknown): WrittenObject | RequestRejection {
  const { metadata } = isFields(content) ? content : {};
  const managed = isFields(metadata) ? metadata['managedFields'] : undefined;
  if (managed === undefined || managed === null) return sent;
  return rejectRequest('field_invalid', 'metadata.managedFields', '', {
    wanted: 'nothing: it is written by the server',
  });
}

function toApplied(object: RenderedObject['object'], tree: FieldTree, { resourceVersion }: WrittenObject): object {
  const { metadata, spec } = tree;
  const { labels: _labels, annotations: _annotations, ...identity } = object.metadata;
  const seen = resourceVersion === undefined ? {} : { resourceVersion };
  return { ...object, metadata: { ...identity, ...(metadata as object), ...seen }, spec };
}

function rejectConflicts(conflicts: readonly FieldConflict[]): RequestRejection {
  const [first, ...more] = conflicts.map(
    ({ manager, pointer }): StatusConflict => ({ manager: manager.name, field: toFieldPath(pointer) }),
  );
  return new ConflictRejection([first!, ...more]);
}

/** `/spec/environment/A` → `.spec.environment.A` */
function toFieldPath(pointer: string): string {
  return pointer.replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~');
}
