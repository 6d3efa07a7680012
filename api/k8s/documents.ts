import { isDeepStrictEqual } from 'node:util';

import type { Kind } from '../../crds/kind/index.js';
import { reject } from '../../crds/rejections/index.js';
import { RequestRejection } from '../http/reply.js';
import { GROUP } from './objects.js';
import { isFields } from '../http/body.js';

type Fields = Readonly<Record<string, unknown>>;

/** What a client may write of an object: the parts that our documents are made of. */
export interface WrittenObject {
  readonly name: string;
  readonly labels: Fields | undefined;
  /** Kept beside the document; undefined when there are none. */
  readonly annotations: Fields | undefined;
  readonly spec: Fields;
  /** It says that its fields have no owners. */
  readonly forgetsOwners: boolean;
  /** The version that the client has seen. */
  readonly resourceVersion: string | undefined;
}

/** The object that a client has sent for a kind and a namespace; `name` is the one of the path, where it has one. */
export function readObject(
  kind: Kind,
  sent: unknown,
  at: { readonly namespace: string; readonly name?: string },
): WrittenObject | RequestRejection {
  const refuse = (field: string, received: unknown, wanted: string) =>
    new RequestRejection(reject('field_invalid', field, received, { wanted }));
  if (!isFields(sent)) return refuse('', sent, `an object of kind ${kind.kind}`);
  const { metadata = {}, spec = {} } = sent;
  if (!isFields(metadata)) return refuse('metadata', metadata, 'an object');
  if (!isFields(spec)) return refuse('spec', spec, 'an object');
  const apiVersion = `${GROUP}/v1`;
  if (sent['kind'] !== undefined && sent['kind'] !== kind.kind) return refuse('kind', sent['kind'], kind.kind);
  if (sent['apiVersion'] !== undefined && sent['apiVersion'] !== apiVersion) {
    return refuse('apiVersion', sent['apiVersion'], apiVersion);
  }
  const { name = at.name, namespace = at.namespace, labels, annotations, managedFields, resourceVersion } = metadata;
  if (namespace !== at.namespace) return refuse('metadata.namespace', namespace, `the namespace ${at.namespace}`);
  if (at.name !== undefined && name !== at.name) return refuse('metadata.name', name, at.name);
  if (labels !== undefined && !isFields(labels)) return refuse('metadata.labels', labels, 'an object');
  if (annotations !== undefined && !isFields(annotations)) {
    return refuse('metadata.annotations', annotations, 'an object');
  }
  return {
    name: name as string,
    labels,
    annotations: annotations === undefined || Object.keys(annotations).length === 0 ? undefined : annotations,
    spec,
    forgetsOwners: Array.isArray(managedFields) && managedFields.every(isEmpty),
    resourceVersion: typeof resourceVersion === 'string' && resourceVersion !== '' ? resourceVersion : undefined,
  };
}

function isEmpty(entry: unknown): boolean {
  return isFields(entry) && Object.keys(entry).length === 0;
}

/** The document of our own API that an object stands for. Its admission judges every part of it, unknown ones too. */
export function toDocument(kind: Kind, { name, labels, spec }: WrittenObject): Fields {
  const known = kind.body?.properties ?? {};
  const inSpec = isFields(spec['labels']) ? spec['labels'] : {};
  const whole = { ...inSpec, ...labels };
  const isLabelled = Object.keys(whole).length > 0 || spec['labels'] !== undefined;
  return {
    ...spec,
    ...('kind' in known && { kind: kind.kind }),
    name,
    ...(isLabelled && { labels: whole }),
  };
}

/**
 * The change that makes one document into another, as our own API takes it: fields that differ, and null for those that are
 * gone. What is not sent stays as it is, so that only the rules of what changes are asked.
 */
export function toChange(before: Fields, after: Fields): Fields {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const different = names.filter(name => !isDeepStrictEqual(before[name], after[name]));
  const change = Object.fromEntries(different.map(name => [name, Object.hasOwn(after, name) ? after[name] : null]));
  const placement = change['placement'];
  const known = before['placement'];
  // The server writes labels of the residency there, which a document must not hold.
  if (isFields(placement) && isFields(known) && isDeepStrictEqual(placement['labels'], known['labels'])) {
    const { labels: _labels, ...rest } = placement;
    return { ...change, placement: rest };
  }
  return change;
}
