import { reject, type Rejection, type Rejections } from '../../crds/rejections/index.js';
import { type Headers, RequestRejection, toRejectionReply, type WholeReply } from '../http/reply.js';

/** What everything of the face begins with: kubectl keeps a path that stands in the address of its server. */
export const FACE_PREFIX = '/k8s';

/** The media type of what Kubernetes' clients read; without a charset, which some of them do not expect. */
export const OBJECT_TYPE = 'application/json';

/** Whether a path belongs to the face. */
export function isKubernetesPath(path: string): boolean {
  return path === FACE_PREFIX || path.startsWith(`${FACE_PREFIX}/`);
}

/** The object that a refused request was about, in the names of Kubernetes. */
export interface StatusSubject {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly name: string;
}

/** The refusal of a request about an object. */
export class ObjectRejection extends RequestRejection {
  readonly subject: StatusSubject;

  constructor(refused: RequestRejection, subject: StatusSubject) {
    super(refused.rejections, refused.headers);
    this.subject = subject;
  }
}

/** A field that another manager has set: who, and where. */
export interface StatusConflict {
  readonly manager: string;
  /** `.spec.replicas` */
  readonly field: string;
}

/** The refusal of server-side apply over what others have set. */
export class ConflictRejection extends RequestRejection {
  readonly conflicts: readonly StatusConflict[];

  constructor(conflicts: readonly [StatusConflict, ...StatusConflict[]]) {
    const [first, ...more] = conflicts.map(({ manager, field }) =>
      reject('field_manager_conflict', field.slice(1), '', { manager }),
    );
    super([first!, ...more]);
    this.conflicts = conflicts;
  }
}

/** Names for programs; kubectl acts on some of them. */
const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'Timeout',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

/**
 * The HTTP status and the reason of a refusal. Clients repeat a write that is refused with 409 until it succeeds, so only
 * what a repetition can repair is a conflict.
 */
function classify({ code, status }: Rejection): { readonly code: number; readonly reason: string } {
  if (code === 'field_manager_conflict') return { code: 409, reason: REASONS[409]! };
  if (status === 409) {
    return code.endsWith('_already_exists')
      ? { code: 409, reason: 'AlreadyExists' }
      : { code: 422, reason: REASONS[422]! };
  }
  const mapped = status === 412 ? 409 : status;
  return { code: mapped, reason: REASONS[mapped] ?? '' };
}

/** The `Status` that stands for a refusal: one cause for each code, and our own record untouched beside them. */
export function toStatus(refused: RequestRejection, baseUrl: string): Readonly<Record<string, unknown>> {
  const { rejections } = refused;
  const subject = refused instanceof ObjectRejection ? refused.subject : undefined;
  const conflicts = refused instanceof ConflictRejection ? refused.conflicts : undefined;
  const { code, reason } = classify(rejections[0]);
  const records = rejections.map(({ status: _status, ...record }) => ({ ...record, doc: `${baseUrl}${record.doc}` }));
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: conflicts ? describeConflicts(conflicts) : describe(rejections, reason, subject, baseUrl),
    reason,
    details: {
      // kubectl says "The Deployment "web" is invalid", and "deployments.mooring.io "web" not found".
      ...(subject && {
        name: subject.name,
        group: subject.group,
        kind: reason === 'Invalid' ? subject.kind : subject.resource,
      }),
      causes:
        conflicts?.map(toConflictCause) ??
        rejections.map(rejection => toCause(rejection, subject !== undefined && code === 422, baseUrl)),
      rejections: records,
    },
    code,
  };
}

/** The answer to a refused request. */
export function toStatusReply(refused: RequestRejection, baseUrl: string): WholeReply {
  const own = toRejectionReply(refused, baseUrl);
  const status = toStatus(refused, baseUrl);
  const headers: Headers = own.headers ?? {};
  return { status: status['code'] as number, body: Buffer.from(JSON.stringify(status)), type: OBJECT_TYPE, headers };
}

function describe(rejections: Rejections, reason: string, subject: StatusSubject | undefined, baseUrl: string): string {
  if (subject && reason === 'NotFound') return `${formatResource(subject)} "${subject.name}" not found`;
  if (subject && reason === 'AlreadyExists') return `${formatResource(subject)} "${subject.name}" already exists`;
  const [{ code, why, received, expected, doc }] = rejections;
  const more = rejections.length === 1 ? '' : ` (and ${rejections.length - 1} more)`;
  return `${code}: ${why} received: ${received || 'nothing'}; expected: ${expected}; see ${baseUrl}${doc}${more}`;
}

/** In the words of Kubernetes, which people know and some tools look for. */
function describeConflicts(conflicts: readonly StatusConflict[]): string {
  const count = conflicts.length === 1 ? '1 conflict' : `${conflicts.length} conflicts`;
  return `Apply failed with ${count}: ${conflicts.map(each => `${toConflictCause(each).message}: ${each.field}`).join('; ')}`;
}

function toConflictCause({ manager, field }: StatusConflict) {
  return { reason: 'FieldManagerConflict', message: `conflict with "${manager}" using mooring.io/v1`, field };
}

/** `deployments.mooring.io`; `pods` in the group without a name. */
export function formatResource({ group, resource }: Pick<StatusSubject, 'group' | 'resource'>): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function toCause({ code, field, received, expected, why, doc }: Rejection, isDocument: boolean, baseUrl: string) {
  const lines = [
    code,
    `    why:      ${why}`,
    `    received: ${received}`,
    `    expected: ${expected}`,
    `    doc:      ${baseUrl}${doc}`,
  ];
  return { reason: code as string, message: lines.join('\n'), field: isDocument ? toObjectField(field) : field };
}

/** Where a field of our documents stands in an object: Kubernetes keeps names and labels outside the spec. */
function toObjectField(field: string): string {
  const [first = ''] = field.split(/[.[]/, 1);
  if (first === 'kind' || first === 'metadata') return field;
  return first === 'name' || first === 'labels' || first === 'annotations' ? `metadata.${field}` : `spec.${field}`;
}
