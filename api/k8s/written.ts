import type { Metadata } from '../../crds/meta/index.js';
import type { Alteration, Warning } from '../../crds/rule/index.js';
import { withNotes } from '../write/metadata.js';
import type { Headers, WholeReply } from '../http/reply.js';
import type { ApiCall, RouteResult } from '../http/route.js';
import { type OwnView, toObject } from './objects.js';
import { findRendered, type ReadEnv, replyObject, type ReadTarget } from './read.js';
import { formatVersion } from './resource-version.js';

/** What our own API answers to a write. */
interface OwnAnswer extends OwnView {
  readonly alterations?: readonly Alteration[];
  readonly warnings?: readonly Warning[];
}

interface DryRunAnswer extends OwnAnswer {
  readonly object: OwnView | null;
}

/** The object as it is stored now, or as it would be, with what the server has to remark. */
export async function answerWritten(
  env: ReadEnv,
  call: ApiCall,
  target: ReadTarget,
  reply: WholeReply,
  { status, toNotes }: { readonly status: number; readonly toNotes: NonNullable<ApiCall['toNotes']> },
): Promise<RouteResult> {
  const body = Buffer.isBuffer(reply.body) ? reply.body : Buffer.concat(reply.body as readonly Buffer[]);
  const own = JSON.parse(body.toString()) as OwnAnswer;
  const headers = toWarningHeader(own);
  const more = { ...(reply.alterations && { alterations: reply.alterations }) };
  if (call.isDryRun)
    return { ...replyObject(status, await toTried(env, target, own as DryRunAnswer, toNotes), headers), ...more };
  const { kind } = target.served.reader;
  const name = String(own[kind.nameField]);
  const rendered = await findRendered(env, target, name);
  return { ...replyObject(status, rendered?.object ?? toWritten(env, target, own), headers), ...more };
}

/** An object that was gone again before it could be read. */
function toWritten(env: ReadEnv, { served }: ReadTarget, own: OwnView): object {
  const { alterations: _alterations, warnings: _warnings, ...view } = own;
  const { revision } = own['metadata'] as { readonly revision: string };
  return toObject(served.reader.kind, view, formatVersion(Number(revision), env.watchHub.history.epoch));
}

/** The object that a dry run describes: with the identity of the stored one, where there is one. */
async function toTried(
  env: ReadEnv,
  target: ReadTarget,
  { object }: DryRunAnswer,
  toNotes: NonNullable<ApiCall['toNotes']>,
): Promise<object> {
  const { kind } = target.served.reader;
  const named = object?.[kind.nameField];
  const name = typeof named === 'string' ? named : '';
  const stored = await findRendered(env, target, name);
  const now = new Date(env.clock.now()).toISOString();
  const known = stored && (stored.view as { readonly metadata: object; readonly status?: unknown });
  const metadata = (known?.metadata ?? { tenant: target.tenant, generation: 1, createdAt: now }) as Metadata;
  const view = {
    ...object,
    metadata: withNotes(metadata, toNotes(object ?? {})),
    ...(known && { status: known.status }),
  };
  return toObject(kind, view, stored?.object.metadata.resourceVersion ?? '');
}

const WARNINGS_MAX = 4_000;

/** What kubectl prints above its result: remarks, and what was changed of what was sent. Defaults show in the object. */
function toWarningHeader({ alterations = [], warnings = [] }: OwnAnswer): Headers {
  const texts = [
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
