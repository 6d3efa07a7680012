import { type ReadonlySignal, signal } from '@preact/signals';

import { mergeLogLines, type ShownLogLine } from '../model/log-lines.js';
import type { ApiConnection } from './connection.js';
import { followLines } from './lines.js';

/** One line of a stream of logs. */
interface LogFrame {
  readonly type: 'line' | 'bookmark' | 'gap' | 'removed' | 'end';
  readonly cursor: string | null;
  readonly replica?: number;
  readonly stream?: 'stdout' | 'stderr';
  readonly at?: string | null;
  readonly text?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The end of a log, which grows. */
export interface LogTail {
  readonly lines: ReadonlySignal<readonly ShownLogLine[]>;
  /** Why nothing more comes for now; empty while it is followed. */
  readonly standing: ReadonlySignal<string>;
}

const KEPT = 2000;
const ASKED_FOR = 300;

/** Follows a log until `ended`: of the replica or attempt that the address names, or of all replicas together. What the server refuses it with is shown, and asked for again where that passes. */
export function followLog(connection: ApiConnection, base: string, ended: AbortSignal, isShared = false): LogTail {
  const lines = signal<readonly ShownLogLine[]>([]);
  const standing = signal('');
  const cursors = new Map<number | undefined, string>();
  const ends = new Map<number | undefined, string>();
  let count = 0;
  void followLines(
    connection,
    {
      path: () => (cursors.size === 0 ? `${base}&tail=${ASKED_FOR}` : `${base}&after=${formatCursors(cursors)}`),
      isNews: frame => (frame as LogFrame).type !== 'end',
      onLines: frames => {
        const added: ShownLogLine[] = [];
        for (const { type, cursor, replica, ...frame } of frames as readonly LogFrame[]) {
          const of = isShared ? replica : undefined;
          if (cursor !== null) cursors.set(of, cursor);
          if (type === 'end') ends.set(of, `${of === undefined ? '' : `replica ${of}: `}${frame.message ?? ''}`);
          if (type !== 'line') continue;
          ends.delete(of);
          const text = (frame.text ?? '').replace(/\n$/, '');
          added.push({ id: count++, at: frame.at ?? null, replica: of, isError: frame.stream === 'stderr', text });
        }
        standing.value = [...ends.values()].join('; ');
        if (added.length > 0) lines.value = mergeLogLines(lines.value, added).slice(-KEPT);
      },
      onRefused: refused => {
        standing.value = refused.message;
        return refused.status === 429 || refused.status === 503;
      },
    },
    ended,
  );
  return { lines, standing };
}

function formatCursors(cursors: ReadonlyMap<number | undefined, string>): string {
  return encodeURIComponent(
    [...cursors].map(([replica, cursor]) => (replica === undefined ? cursor : `${replica}:${cursor}`)).join(','),
  );
}
