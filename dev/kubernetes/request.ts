import { parseFieldSelector, parseLabelSelector } from '../../api/k8s/selectors.js';
import type { ResourcePlace, StoredObject } from './objects.js';
import { StatusError } from './objects.js';

/** What a request is about. */
export interface Target extends ResourcePlace {
  readonly name?: string;
  readonly subresource?: string;
}

/** Reads `/apis/mooring.io/v1/namespaces/shop/deployments/web/status`. Undefined when the path names no resource. */
export function readTarget(path: string): Target | undefined {
  const [root, ...rest] = path
    .split('/')
    .filter(part => part !== '')
    .map(decodeURIComponent);
  if (root !== 'api' && root !== 'apis') return undefined;
  const group = root === 'api' ? '' : (rest.shift() ?? '');
  const [version, ...parts] = rest;
  if (version === undefined || parts.length === 0) return undefined;
  const isWithin = parts[0] === 'namespaces' && parts.length > 2 && !['status', 'finalize'].includes(parts[2]!);
  const namespace = isWithin ? parts[1]! : '';
  const [plural = '', name, subresource] = isWithin ? parts.slice(2) : parts;
  return {
    group,
    version,
    plural,
    namespace,
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
}

/** Which objects a list or a watch is to show. */
export function readSelection(query: URLSearchParams): (object: StoredObject) => boolean {
  const byLabel = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = query.get('fieldSelector') ?? '';
  const named = fields.split(',').map(part => part.split(/[!=]/)[0]!);
  const byField = parseFieldSelector(fields, named);
  if (!byLabel || !byField) throw new StatusError(400, 'BadRequest', 'the selector cannot be read');
  return object => byLabel(object.metadata.labels ?? {}) && byField(object as never);
}
