import type { IncomingMessage } from 'node:http';

import { reject } from '../../crds/rejections/index.js';
import type { Clock } from '../../pkg/clock/index.js';
import { type BodyLimits, readDocumentBytes, type ReadBody, readBytes } from '../http/body.js';
import { type QueryParams, rejectParameter } from '../http/query.js';
import { RequestRejection } from '../http/reply.js';
import type { BodyRule } from '../http/route.js';

/** Every query parameter of Kubernetes that means something here. Others are ignored, as Kubernetes does. */
export const QUERY = [
  'allowWatchBookmarks',
  'container',
  'continue',
  'dryRun',
  'fieldManager',
  'fieldSelector',
  'fieldValidation',
  'follow',
  'force',
  'includeObject',
  'labelSelector',
  'limit',
  'limitBytes',
  'previous',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'sinceSeconds',
  'sinceTime',
  'tailLines',
  'timeoutSeconds',
  'timestamps',
  'watch',
] as const;

/** A flag, in every form in which Kubernetes' clients write one. */
export function readSwitch(query: QueryParams, name: string): boolean | RequestRejection {
  const text = query.get(name) ?? '';
  if (text === '' || text === 'false' || text === '0') return false;
  return text === 'true' || text === '1' ? true : rejectParameter(name, text, 'true or false');
}

/** Whether a write is only to be tried. */
export function readDryRun(query: QueryParams): boolean | RequestRejection {
  const text = query.get('dryRun');
  if (text === undefined || text === 'All') return text === 'All';
  return rejectParameter('dryRun', text, 'All');
}

/** A body as it was sent: parsed where it is JSON, the bytes where it is not. */
export interface KubernetesBody {
  /** The media type; that of JSON when none was sent. */
  readonly type: string;
  /** Undefined when there was no body. */
  readonly content: unknown;
}

const JSON_TYPES: ReadonlySet<string> = new Set([
  'application/json',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/strategic-merge-patch+json',
]);
/** Read by the handlers that take them, and refused by the others. */
const RAW_TYPES: ReadonlySet<string> = new Set(['application/vnd.kubernetes.protobuf']);
/** Of server-side apply: YAML, and nearly always its subset JSON. */
export const APPLY_TYPE = 'application/apply-patch+yaml';

const OPENING = '{'.charCodeAt(0);

/** Reads the body of a request to the face, within the limits of every body. */
export async function readKubernetesBody(
  request: IncomingMessage,
  rule: BodyRule,
  limits: BodyLimits,
  clock: Clock,
): Promise<ReadBody> {
  if (rule !== 'json') return { document: undefined };
  const { 'content-type': sent = 'application/json', 'content-encoding': encoding } = request.headers;
  const type = sent.split(';', 1)[0]!.trim().toLowerCase();
  if (encoding !== undefined || !(JSON_TYPES.has(type) || RAW_TYPES.has(type) || type === APPLY_TYPE)) {
    return new RequestRejection(reject('media_type_unsupported', 'Content-Type', sent), { connection: 'close' });
  }
  const bytes = await readBytes(request, limits, clock);
  if (bytes instanceof RequestRejection) return bytes;
  if (bytes.length === 0 || RAW_TYPES.has(type)) {
    return { document: { type, content: bytes.length === 0 ? undefined : bytes } satisfies KubernetesBody };
  }
  const isYaml = type === APPLY_TYPE && bytes[0] !== OPENING;
  const json = isYaml ? (await import('./yaml.js')).toJson(bytes) : bytes;
  if (json instanceof RequestRejection) return json;
  const read = readDocumentBytes(json, limits);
  if (read instanceof RequestRejection) return read;
  return { document: { type, content: read.document } satisfies KubernetesBody };
}
