import { type ReadonlySignal, useComputed, useSignal, useSignalEffect } from '@preact/signals';

import { type OpenSession, signOut } from '../data/session.js';
import { openListWatch } from '../data/watch.js';

/** A list that is followed for as long as it is shown; undefined until it is there. */
export function useLiveItems<T>(
  session: OpenSession,
  path: string,
  nameOf: (object: T) => string,
): ReadonlySignal<readonly T[] | undefined> {
  const items = useSignal<readonly T[] | undefined>(undefined);
  useSignalEffect(() => {
    const ended = new AbortController();
    const watch = openListWatch<T>(session.connection, { path, nameOf }, ended.signal, refused =>
      signOut(refused.message),
    );
    const dispose = watch.list.subscribe(({ items: shown, isLoaded }) => {
      if (isLoaded) items.value = [...shown.values()];
    });
    return () => {
      ended.abort();
      dispose();
    };
  });
  return items;
}

const SETTLE_MS = 300;

/** What has no watch: read when it is first shown, and again a moment after `cause` has changed. */
export function useReading<T>(
  session: OpenSession,
  path: string,
  readCause: () => unknown,
): ReadonlySignal<T | undefined> {
  const answer = useSignal<T | undefined>(undefined);
  const cause = useComputed(readCause);
  useSignalEffect(() => {
    void cause.value;
    const ended = new AbortController();
    const read = async () => {
      answer.value = await session.connection.get<T>(path, ended.signal);
    };
    const timer = setTimeout(() => void read().catch(() => undefined), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  });
  return answer;
}
