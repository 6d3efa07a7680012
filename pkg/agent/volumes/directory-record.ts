import { createStreamFault } from './volume-checks.js';

/**
 * The stream of a folder: `MAGIC`, then one line of JSON for each entry, parents first; a `file` is followed by its bytes. It ends
 * with `end`. Names are bytes, written as latin1.
 */
export const MAGIC = 'mooring-folder 1\n';

interface EntryMetadata {
  /** Relative; empty for the folder itself. */
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Seconds since 1970. */
  readonly mtime: number;
}

export type FolderRecord =
  | ({ readonly kind: 'folder' } & EntryMetadata)
  | ({ readonly kind: 'file'; readonly size: number } & EntryMetadata)
  /** As the file of this path in the parent, whose SHA-256 is given. */
  | ({ readonly kind: 'same'; readonly digest: string } & EntryMetadata)
  | { readonly kind: 'symlink'; readonly path: string; readonly to: string; readonly uid: number; readonly gid: number }
  /** Another name of a file that came before. */
  | { readonly kind: 'link'; readonly path: string; readonly to: string }
  | { readonly kind: 'end'; readonly entries: number };

type Form = (value: unknown) => boolean;

/** Bytes, as latin1. Any other character would become one of these when it is written, and a name another name. */
const isBytes = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.length <= 4096 &&
  !value.includes('\0') &&
  Buffer.from(value, 'latin1').toString('latin1') === value;
const isPath: Form = value =>
  isBytes(value) && value.split('/').every(each => each !== '' && each !== '.' && each !== '..' && each.length <= 255);
const isPathOrRoot: Form = value => value === '' || isPath(value);
const isTarget: Form = value => isBytes(value) && value !== '';
const isCount: Form = value => Number.isSafeInteger(value) && (value as number) >= 0;
const isTime: Form = value => typeof value === 'number' && Number.isFinite(value);
const isDigest: Form = value => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

const owned = { path: isPath, mode: isCount, uid: isCount, gid: isCount, mtime: isTime };
const forms: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  folder: { ...owned, path: isPathOrRoot },
  file: { ...owned, size: isCount },
  same: { ...owned, digest: isDigest },
  symlink: { path: isPath, to: isTarget, uid: isCount, gid: isCount },
  link: { path: isPath, to: isPath },
  end: { entries: isCount },
} satisfies Record<FolderRecord['kind'], Readonly<Record<string, Form>>>;

/** Reads a line that another machine wrote. Throws when it is malformed, or names a path that is not inside. */
export function parseFolderRecord(line: string): FolderRecord {
  const record = readObject(line);
  const kind = String(record['kind']);
  const form = Object.hasOwn(forms, kind) ? forms[kind] : undefined;
  if (form && Object.entries(form).every(([field, isSound]) => isSound(record[field]))) return record as never;
  throw createStreamFault('an entry is malformed or names a path outside of the volume');
}

function readObject(line: string): Readonly<Record<string, unknown>> {
  try {
    const document = JSON.parse(line) as unknown;
    if (typeof document === 'object' && document !== null) return document as Readonly<Record<string, unknown>>;
  } catch {
    // reported below, without quoting it
  }
  throw createStreamFault('an entry is not JSON');
}
