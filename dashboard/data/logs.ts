import { type ReadonlySignal, signal } from '@preact/signals';

import type { ApiConnection } from './connection.js';
import { followLines } from './lines.js';

/** One line of a stream of logs. */
interface LogFrame {
  readonly type: 'line' | 'bookmark' | 'gap' | 'removed' | 'end';
  readonly cursor: string | null;
  readonly stream?: 'stdout' | 'stderr';
  readonly at?: string | null;
  readonly text?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** A line as it is shown. */
export interface ShownLogLine {
  readonly id: number;
  readonly at: string | null;
  readonly isError: boolean;
  readonly text: string;
}

/** The end of a log, which grows. */
export interface LogTail {
  readonly lines: ReadonlySignal<readonly ShownLogLine[]>;
  /** Why nothing more comes for now; empty while it is followed. */
  readonly standing: ReadonlySignal<string>;
}

const KEPT = 2000;
const ASKED_FOR = 300;

/** Follows the log of one replica until `ended`. What the server refuses it with is shown, and asked for again where that passes. */
export function followLog(connection: ApiConnection, deployment: string, replica: number, ended: AbortSignal): LogTail {
  const lines = signal<readonly ShownLogLine[]>([]);
  const standing = signal('');
  let cursor: string | null = null;
  let count = 0;
  const base = `/api/v1/deployments/${encodeURIComponent(deployment)}/logs?follow=true&replica=${replica}`;
  void followLines(
    connection,
    {
      path: () => (cursor === null ? `${base}&tail=${ASKED_FOR}` : `${base}&after=${encodeURIComponent(cursor)}`),
      isNews: frame => (frame as LogFrame).type !== 'end',
      onLines: frames => {
        const added: ShownLogLine[] = [];
        for (const { type, cursor: at, ...frame } of frames as readonly LogFrame[]) {
          cursor = at ?? cursor;
          if (type === 'line')
            added.push({
              id: count++,
              at: frame.at ?? null,
              isError: frame.stream === 'stderr',
              text: (frame.text ?? '').replace(/\n$/, ''),
            });
          if (type === 'end') standing.value = frame.message ?? '';
        }
        if (added.length === 0) return;
        standing.value = '';
        lines.value = [...lines.value, ...added].slice(-KEPT);
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
