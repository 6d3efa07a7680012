/**
 * A place in the order of all changes: after the change at `position` of `revision`, or, in a list that was being read
 * at `revision`, after the object called `name`.
 */
export interface Cursor {
  readonly revision: number;
  /** Infinite when the whole revision has been seen. */
  readonly position: number;
  /** Only inside a list: it had been delivered up to here. */
  readonly name?: string;
}

const FORM = /^(\d{1,15})(?:\.(\d{1,9})|:([A-Za-z0-9][A-Za-z0-9._-]{0,252}))?$/;

/** The place after everything that happened at a revision. */
export function after(revision: number): Cursor {
  return { revision, position: Number.POSITIVE_INFINITY };
}

/** Reads a cursor that a client sent back. */
export function parseCursor(text: string): Cursor | undefined {
  const [, revision, position, name] = FORM.exec(text) ?? [];
  if (revision === undefined) return undefined;
  if (position !== undefined) return { revision: Number(revision), position: Number(position) };
  return name === undefined ? after(Number(revision)) : { ...after(Number(revision)), name };
}

/** Whether the first place is before the second. */
export function isBefore(a: Cursor, b: Cursor): boolean {
  return a.revision === b.revision ? a.position < b.position : a.revision < b.revision;
}
