import type { Kind } from '../../crds/kind/index.js';
import type { FieldOwners, ObjectNotes } from '../../crds/meta/index.js';
import { describeValue, type Rejection } from '../../crds/rejections/index.js';
import { isCredential } from '../../crds/workload/index.js';
import { rejectParameter } from '../http/query.js';
import type { RequestRejection } from '../http/reply.js';
import type { ApiCall } from '../http/route.js';
import { checkAnnotations } from './annotations.js';
import type { WrittenObject } from './documents.js';
import { type Owner, ownChanges, recordOwners } from './field-owners.js';
import type { FieldTree } from './fields.js';
import { listOwners, type OwnView, toFieldTree } from './objects.js';

/** What is kept beside a document, and what is wrong with it. */
export interface KeptNotes {
  readonly toNotes: NonNullable<ApiCall['toNotes']>;
  readonly rejections: readonly Rejection[];
}

/** Owners that need more are forgotten: every field then belongs to another manager, and nothing is overwritten unasked. */
const OWNERS_BYTES_MAX = 128 * 1024;

interface NotesContext {
  readonly stored?: WrittenObject;
  readonly owners?: readonly Owner[] | undefined;
  /** The owners that are stored. */
  readonly recorded?: FieldOwners | undefined;
}

/** What is kept with an object that a client writes, over the one that is stored. */
export function readNotes(kind: Kind, sent: WrittenObject, { stored, owners, recorded }: NotesContext = {}): KeptNotes {
  const annotations = sent.annotations as ObjectNotes['annotations'];
  const toNotes = (own: object): ObjectNotes => {
    const fieldOwners = owners && recordOwners(owners, toFieldTree(kind, own as OwnView, annotations), recorded);
    const isKept = fieldOwners && JSON.stringify(fieldOwners).length <= OWNERS_BYTES_MAX;
    return { ...(annotations && { annotations }), ...(isKept && { fieldOwners }) };
  };
  return { toNotes, rejections: checkAnnotations(sent.annotations, stored?.annotations) };
}

/** What a client says of the fields that have owners, and of those that there are not: admission judges them. */
export function toSentTree({ labels, annotations, spec }: WrittenObject): FieldTree {
  const { labels: inSpec, ...rest } = spec;
  return { metadata: { labels: { ...(inSpec as object | undefined), ...labels }, annotations }, spec: rest };
}

/** The owners after a change without server-side apply; undefined while no manager has used that on the object. */
export function listNextOwners(
  kind: Kind,
  view: OwnView,
  sent: WrittenObject,
  manager: { readonly name: string; readonly at: string },
): readonly Owner[] | undefined {
  const { fieldOwners, annotations } = view['metadata'] as ObjectNotes;
  if (!fieldOwners || sent.forgetsOwners) return undefined;
  const before = toFieldTree(kind, view, annotations);
  const after = toSentTree(sent);
  return ownChanges(listOwners(kind, view), { before, after, manager: { ...manager, operation: 'Update' } });
}

const NAME = /^[^\p{C}]{1,128}$/u;

/** Who a write is said to be of: the name that the client gives, or that of its program. */
export function readManagerName({ query, request }: ApiCall): string | RequestRejection {
  const name = query.get('fieldManager') ?? '';
  // It is stored, and shown to every user who may read the object.
  if (isCredential('', name)) return rejectParameter('fieldManager', describeValue(name), 'a name, and no credential');
  if (name !== '') return NAME.test(name) ? name : rejectParameter('fieldManager', name, 'a name of 128 characters');
  const [program = ''] = (request.headers['user-agent'] ?? '').split('/', 1);
  return NAME.test(program) && !isCredential('', program) ? program : 'unknown';
}
