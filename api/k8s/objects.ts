import type { Kind } from '../../crds/kind/index.js';
import type { ObjectNotes } from '../../crds/meta/index.js';
import { type Owner, readOwners, toManagedFields } from './field-owners.js';
import type { FieldTree } from './fields.js';

export const GROUP = 'mooring.io';

/** `metadata` of an object, as far as the face uses it. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly finalizers?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly object[];
}

/** An object as Kubernetes' clients see it. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [part: string]: unknown;
}

/** An object as our own API shows it. */
export type OwnView = Readonly<Record<string, unknown>>;

interface OwnMetadata extends ObjectNotes {
  readonly tenant: string;
  readonly uid: string;
  readonly generation: number;
  readonly createdAt: string;
  readonly deletedAt?: string;
  readonly owner?: { readonly name: string; readonly uid: string };
  readonly updatedAt?: string;
}

/** Removed with the record, when everything that the object stood for is gone. */
const FINALIZER = `${GROUP}/remains`;

/** A time without fractions of a second, as Kubernetes writes it. */
export function toTimestamp(at: string): string {
  return at.replace(/\.\d+Z$/, 'Z');
}

/** Fields of documents that Kubernetes keeps outside the spec. */
const OUTSIDE: ReadonlySet<string> = new Set(['kind', 'name', 'labels']);

/** The fields of a kind's documents that make up the spec of its objects. */
export function listSpecFields({ body }: Kind): readonly string[] {
  return Object.keys(body?.properties ?? {}).filter(field => !OUTSIDE.has(field));
}

/**
 * An object of one of our kinds: what a client may write is its spec, its labels and its name; everything else that our own
 * answers show is status.
 */
export function toObject(kind: Kind, own: OwnView, resourceVersion: string): KubernetesObject {
  const { metadata, kind: _kind, status, labels, [kind.nameField]: name, ...rest } = splitView(kind, own);
  const meta = metadata as OwnMetadata;
  const seen = typeof status === 'object' ? (status ?? {}) : { ...(status !== undefined && { phase: status }) };
  const isLabelled = Object.keys(labels ?? {}).length > 0;
  return {
    apiVersion: `${GROUP}/v1`,
    kind: kind.kind,
    metadata: {
      name: String(name),
      namespace: meta.tenant,
      uid: meta.uid,
      resourceVersion,
      generation: meta.generation,
      creationTimestamp: toTimestamp(meta.createdAt),
      ...(meta.deletedAt !== undefined && {
        deletionTimestamp: toTimestamp(meta.deletedAt),
        deletionGracePeriodSeconds: 0,
        finalizers: [FINALIZER],
      }),
      ...(isLabelled && { labels: labels as Readonly<Record<string, string>> }),
      ...(meta.annotations && { annotations: meta.annotations }),
      ...(meta.fieldOwners && { managedFields: toManagedFields(listOwners(kind, own), `${GROUP}/v1`) }),
      ...(meta.owner && { ownerReferences: [toOwner(kind, meta.owner)] }),
    },
    spec: pick(kind, rest, true),
    status: { ...pick(kind, rest, false), ...seen },
  };
}

function pick(kind: Kind, view: OwnView, isSpec: boolean): OwnView {
  const inSpec = new Set(listSpecFields(kind));
  return Object.fromEntries(Object.entries(view).filter(([field]) => inSpec.has(field) === isSpec));
}

/** The parts of an object whose fields have owners, as it is shown or as its document is stored. */
export function toFieldTree(kind: Kind, own: OwnView, annotations?: ObjectNotes['annotations']): FieldTree {
  const view = splitView(kind, own);
  const { labels = {} } = view;
  return { metadata: { labels, annotations: annotations ?? {} }, spec: pick(kind, view, true) };
}

/** The owners of the fields of an object that is shown. */
export function listOwners(kind: Kind, own: OwnView): readonly Owner[] {
  const { fieldOwners, annotations, updatedAt, createdAt } = own['metadata'] as OwnMetadata;
  return readOwners(fieldOwners, toFieldTree(kind, own, annotations), updatedAt ?? createdAt);
}

function toOwner({ kind }: Kind, { name, uid }: { readonly name: string; readonly uid: string }) {
  return { apiVersion: `${GROUP}/v1`, kind, name, uid, controller: true };
}

/**
 * Our answers show a volume flat: the copies that it has stand where documents say how many there are to be, and those are
 * shown beside them.
 */
function splitView({ plural }: Kind, own: OwnView): OwnView {
  if (plural !== 'volumes') return own;
  const { replicas: copies, wantedReplicas = copies, primaryNode, ...rest } = own;
  return { ...rest, ...(wantedReplicas !== 0 && { replicas: wantedReplicas }), copies, node: primaryNode };
}

/** As much of an object as tables and metadata informers want. */
export function toPartial({ metadata }: KubernetesObject): object {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}
