import { splitLines } from '../model/live-list.js';
import { type ApiConnection, RefusedCall } from './connection.js';

/** What reads a stream of JSON lines. */
export interface LineReader {
  /** Where to ask; called for every attempt, so that it can go on where it was. */
  readonly path: () => string;
  /** Lines that have arrived together. */
  readonly onLines: (lines: readonly unknown[]) => void;
  /** Whether a line shows that the stream goes on: one that only ever says why it ends is asked for less and less often. */
  readonly isNews?: (line: unknown) => boolean;
  /** What the server refuses the stream with. Gives whether to try again. */
  readonly onRefused: (refused: RefusedCall) => boolean;
  readonly onConnected?: (isConnected: boolean) => void;
  /** Gives whether to open it again after the server has ended it in good order. */
  readonly onEnd?: () => boolean;
}

/** A quiet stream carries a bookmark every few seconds: one that is silent for so long is dead. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 8_000;
/** A hidden page gives its connections back: a browser has six of them for all of its tabs. */
const HIDDEN_MS = 20_000;

/** Follows a stream until `signal` ends it: after a break it is opened again, and waits while the page is hidden. */
export async function followLines(connection: ApiConnection, reader: LineReader, signal: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    await untilVisible(signal);
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener('abort', stop);
    const shown = stopWhenHidden(stop);
    try {
      const hasRead = await readOnce(connection, reader, attempt);
      if (hasRead) wait = FIRST_WAIT_MS;
      if (reader.onEnd?.() === false) return;
    } catch (thrown) {
      if (signal.aborted) return;
      reader.onConnected?.(attempt.signal.aborted && document.hidden);
      if (thrown instanceof RefusedCall && thrown.status !== 0 && !reader.onRefused(thrown)) return;
    } finally {
      shown();
      signal.removeEventListener('abort', stop);
      attempt.abort();
    }
    await pause(wait * (0.5 + Math.random()), signal);
    wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  }
}

/** Reads one answer to its end. Gives whether anything new came. */
async function readOnce(connection: ApiConnection, reader: LineReader, attempt: AbortController): Promise<boolean> {
  const response = await connection.open(reader.path(), 'application/x-ndjson', attempt.signal);
  reader.onConnected?.(true);
  const decoder = new TextDecoder();
  let rest = '';
  let hasRead = false;
  let silence = setTimeout(() => attempt.abort(), SILENCE_MS);
  try {
    for (const body = response.body!.getReader(); ; ) {
      const { done, value } = await body.read();
      if (done) return hasRead;
      clearTimeout(silence);
      silence = setTimeout(() => attempt.abort(), SILENCE_MS);
      const split = splitLines(rest + decoder.decode(value, { stream: true }));
      rest = split.rest;
      if (split.lines.length === 0) continue;
      const lines = split.lines.map(line => JSON.parse(line) as unknown);
      hasRead ||= lines.some(line => reader.isNews?.(line) ?? true);
      reader.onLines(lines);
    }
  } finally {
    clearTimeout(silence);
  }
}

function stopWhenHidden(stop: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(stop, HIDDEN_MS);
  };
  document.addEventListener('visibilitychange', look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
  };
}

function untilVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise(resolve => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
