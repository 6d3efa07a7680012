import { type ReadonlySignal, signal } from '@preact/signals';

import {
  applyWatchLines,
  createLiveList,
  type LiveList,
  restartLiveList,
  type StreamedChange,
} from '../model/live-list.js';
import type { ApiConnection, RefusedCall } from './connection.js';
import { followLines } from './lines.js';

/** What is watched. */
export interface WatchedCollection<T> {
  readonly path: string;
  readonly nameOf: (object: T) => string;
  /** How many are kept, where there is no end of them. */
  readonly limit?: number;
}

/** A list that follows what the server has. */
export interface Watch<T> {
  readonly list: ReadonlySignal<LiveList<T>>;
  readonly isConnected: ReadonlySignal<boolean>;
}

/** Watches a collection until `ended`. A cursor that the server does not know any more makes it read the list again. */
export function openListWatch<T>(
  connection: ApiConnection,
  { path, nameOf, limit }: WatchedCollection<T>,
  ended: AbortSignal,
  onRefused: (refused: RefusedCall) => void,
): Watch<T> {
  const list = signal(createLiveList<T>());
  const isConnected = signal(true);
  const reader = {
    path: () => {
      const { cursor } = list.value;
      return `${path}?watch=true${cursor === undefined ? '' : `&after=${encodeURIComponent(cursor)}`}`;
    },
    onLines: (lines: readonly unknown[]) => {
      list.value = applyWatchLines(list.value, lines as readonly StreamedChange<T>[], nameOf, limit);
    },
    onConnected: (is: boolean) => {
      isConnected.value = is;
    },
    onRefused: (refused: RefusedCall) => {
      const isOver = refused.status === 401 || refused.status === 403;
      if (isOver) onRefused(refused);
      else if (refused.rejections.some(({ code }) => code === 'watch_expired'))
        list.value = restartLiveList(list.value);
      return !isOver;
    },
  };
  void followLines(connection, reader, ended);
  return { list, isConnected };
}
