import type { WatchCursor } from '../watch/frame.js';

/**
 * `resourceVersion` is a decimal number for Kubernetes' clients: the revision of the store, and in four digits the place
 * among the changes of that revision, since several objects may be written in one. A store that was restored counts from
 * an older revision again, so where a restore was declared its epoch stands in front.
 */
const PLACE_DIGITS = 4;
const REVISION_DIGITS = 15;
/** After everything of a revision. */
const WHOLE = 9_999;
const FORM = /^[1-9]\d{4,40}$/;

/** The version of an object as it is read, or of a list: everything of its revision has been seen. */
export function formatVersion(revision: number, epoch: number | undefined): string {
  return format(revision, WHOLE, epoch);
}

/** The version of a change within a watch: a client that is cut off after it resumes there. */
export function formatChangeVersion({ revision, position }: WatchCursor, epoch: number | undefined): string {
  // A place that has no number of its own is given twice rather than never.
  return format(revision, Math.min(position, WHOLE - 2) + 1, epoch);
}

function format(revision: number, place: number, epoch: number | undefined): string {
  const digits = String(place).padStart(PLACE_DIGITS, '0');
  if (epoch === undefined) return `${revision}${digits}`;
  return `${epoch}${String(revision).padStart(REVISION_DIGITS, '0')}${digits}`;
}

/** Whether two versions are of one state of an object: as it was read, and as a watch has sent it. */
export function isSameState(a: unknown, b: string): boolean {
  const [one, other] = [typeof a === 'string' ? parseVersion(a) : undefined, parseVersion(b)];
  return one !== undefined && one.revision === other?.revision && one.epoch === other.epoch;
}

const CONTINUE = /^(\d{5,41}):([A-Za-z0-9][A-Za-z0-9._-]{0,252})$/;

/** The `continue` of a page: its last name, and the version of the first page. */
export function formatContinue(name: string, revision: number, epoch: number | undefined): string {
  return Buffer.from(`${formatVersion(revision, epoch)}:${name}`).toString('base64url');
}

/** What a `continue` says; undefined when it is none of ours. */
export function parseContinue(token: string): (WatchCursor & { readonly name: string }) | undefined {
  const [, version = '', name] = CONTINUE.exec(Buffer.from(token, 'base64url').toString('latin1')) ?? [];
  const at = parseVersion(version);
  if (!at || name === undefined) return undefined;
  return formatContinue(name, at.revision, at.epoch) === token ? { ...at, name } : undefined;
}

/** The place that a version names; undefined when it is none of ours. */
export function parseVersion(text: string): WatchCursor | undefined {
  if (!FORM.test(text)) return undefined;
  const place = Number(text.slice(-PLACE_DIGITS));
  const rest = text.slice(0, -PLACE_DIGITS);
  const epoch = rest.length > REVISION_DIGITS ? Number(rest.slice(0, -REVISION_DIGITS)) : undefined;
  return {
    revision: Number(rest.slice(-REVISION_DIGITS)),
    position: place === WHOLE ? Number.POSITIVE_INFINITY : place - 1,
    ...(epoch !== undefined && { epoch }),
  };
}
