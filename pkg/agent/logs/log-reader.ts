import type { ContainerLogOptions, LogEntry } from '../engine/index.js';

/**
 * A place in a container's log: right after one entry.
 *
 * Engines number nothing, and rotation removes from the beginning. Times alone are no position either: entries share one, and a
 * clock may go back. So an entry is found again by its stream, its time and its number among those with the same time, and what
 * follows it in the log is new.
 */
export interface LogMark {
  readonly stream: LogEntry['stream'];
  readonly at: string;
  /** Which of the consecutive entries of the stream with this time; the first is 1. */
  readonly count: number;
}

/** An entry and the place right after it. */
export interface MarkedEntry {
  readonly entry: LogEntry;
  readonly mark: LogMark;
}

/** Where to begin. */
export interface LogStart {
  /** With the last entries, so many. Default: all. */
  readonly tail?: number;
  /** With entries of this time or later. */
  readonly since?: string;
  /** Right after this place; the others do not count then. */
  readonly after?: LogMark;
}

/** Reads the log as it is now, as `Engine.logs` does. */
export type ReadLog = (options: ContainerLogOptions) => AsyncIterable<LogEntry>;

/** How many of the last entries are read to find the mark, before all are. */
const WINDOWS = [256, 4_096] as const;
/** Read beside the requested ones, so that the first of them is counted right: so many others never stand between two of one time. */
const SURROUNDING = 64;
/** A window with more is not held, but read again piece by piece: an agent reads many logs at once. */
const HELD_BYTES = 1024 * 1024;

/**
 * Reads a growing log piece by piece: each entry once and none left out, over rotation, restarts of the engine and of the agent.
 *
 * It reads again and again instead of following, because engines lose lines of a followed log when it is rotated.
 */
export class LogReader {
  readonly #read: ReadLog;
  #start: LogStart;
  #mark: LogMark | undefined;
  #hasGap = false;

  constructor(read: ReadLog, start: LogStart) {
    this.#read = read;
    this.#start = start;
    this.#mark = start.after;
  }

  /** Whether the last read did not find its mark: the engine has removed what followed it, in part or not at all. */
  get hasGap(): boolean {
    return this.#hasGap;
  }

  /** Everything that the log has beyond what was read before. */
  async *readNew(): AsyncGenerator<MarkedEntry> {
    this.#hasGap = false;
    for await (const marked of this.#mark ? this.#readAfter(this.#mark) : this.#readFirst()) {
      this.#mark = marked.mark;
      yield marked;
    }
  }

  async *#readFirst(): AsyncGenerator<MarkedEntry> {
    const { tail, since } = this.#start;
    this.#start = since === undefined ? {} : { since }; // what comes later is wanted in full
    const options = since === undefined ? {} : { since };
    if (tail === undefined) return yield* markEntries(this.#read(options));

    const { marks, entries } = await readWindow(this.#read({ ...options, tail: tail + SURROUNDING }));
    const first = Math.max(0, marks.length - tail);
    this.#mark = marks[first - 1];
    if (entries) yield* entries.slice(first);
    else yield* this.#mark ? this.#readSince(this.#mark) : markEntries(this.#read(options));
  }

  async *#readAfter(mark: LogMark): AsyncGenerator<MarkedEntry> {
    for (const tail of WINDOWS) {
      const { marks, entries } = await readWindow(this.#read({ tail }));
      if (!entries) break;
      const isWhole = entries.length < tail;
      const place = findMark(marks, mark, isWhole);
      if (place !== undefined) return yield* entries.slice(place + 1);
      if (!isWhole) continue;
      // The mark was removed with what came before it: all that is left is new.
      this.#hasGap = true;
      return yield* entries.filter(marked => !isPartOf(marked, mark));
    }
    yield* this.#readSince(mark);
  }

  /**
   * Reads from shortly before the mark, since entries of two streams may stand in another order than their times: once to look for
   * it, and once more for what follows it. When it is not there, it was removed with what came before: all that is left is new.
   */
  async *#readSince(mark: LogMark): AsyncGenerator<MarkedEntry> {
    const options = { since: addSeconds(mark.at, -1) };
    const isThere = await includesMark(this.#read(options), mark);
    this.#hasGap = !isThere;
    let isNew = !isThere;
    for await (const marked of markEntries(this.#read(options))) {
      if (!isNew) isNew = isSameMark(marked.mark, mark);
      else if (isThere || !isPartOf(marked, mark)) yield marked;
    }
  }
}

/** Some of the last entries: their marks, and the entries themselves while they are small enough to be held. */
async function readWindow(
  read: AsyncIterable<LogEntry>,
): Promise<{ readonly marks: readonly LogMark[]; readonly entries: readonly MarkedEntry[] | undefined }> {
  const marks: LogMark[] = [];
  let entries: MarkedEntry[] | undefined = [];
  let bytes = 0;
  for await (const marked of markEntries(read)) {
    marks.push(marked.mark);
    bytes += marked.entry.bytes.length;
    if (bytes > HELD_BYTES) entries = undefined;
    entries?.push(marked);
  }
  return { marks, entries };
}

async function includesMark(entries: AsyncIterable<LogEntry>, mark: LogMark): Promise<boolean> {
  for await (const marked of markEntries(entries)) if (isSameMark(marked.mark, mark)) return true;
  return false;
}

/** Numbers entries that share their stream and time. */
export async function* markEntries(entries: AsyncIterable<LogEntry>): AsyncGenerator<MarkedEntry> {
  const last: Partial<Record<LogEntry['stream'], LogMark>> = {};
  for await (const entry of entries) {
    const { stream, at } = entry;
    const before = last[stream];
    const mark: LogMark = { stream, at, count: before?.at === at ? before.count + 1 : 1 };
    last[stream] = mark;
    yield { entry, mark };
  }
}

/**
 * The index of the marked entry. Undefined when it is not among these, or when these begin inside a group of equal times that
 * counts here: then more must be read.
 */
function findMark(marks: readonly LogMark[], mark: LogMark, isWhole: boolean): number | undefined {
  const place = marks.findLastIndex(each => isSameMark(each, mark));
  if (place === -1) return undefined;
  if (isWhole) return place;
  for (const stream of ['stdout', 'stderr'] as const) {
    const first = marks.findIndex(each => each.stream === stream);
    if (first === -1 || first >= SURROUNDING) continue;
    const { at } = marks[first]!;
    if (marks.slice(place).some(each => each.stream === stream && each.at === at)) return undefined;
  }
  return place;
}

function isSameMark(one: LogMark, other: LogMark): boolean {
  return one.stream === other.stream && one.at === other.at && one.count === other.count;
}

function addSeconds(at: string, seconds: number): string {
  const [whole = '', fraction = ''] = at.split('.');
  return `${String(Math.max(0, Number(whole) + seconds)).padStart(10, '0')}.${fraction}`;
}

/** Whether it may be another part of the marked line. */
function isPartOf({ entry }: MarkedEntry, { stream, at }: LogMark): boolean {
  return entry.stream === stream && entry.at === at;
}

/** A place in the log of one container. */
export interface LogPosition {
  readonly container: string;
  readonly mark: LogMark;
}

const POSITION = /^([0-9a-f]{12,64}):(stdout|stderr):(\d{10}\.\d{9}):([1-9]\d{0,8})$/;

export function formatPosition({ container, mark: { stream, at, count } }: LogPosition): string {
  return `${container}:${stream}:${at}:${count}`;
}

export function parsePosition(text: string): LogPosition | undefined {
  const [, container, stream, at, count] = POSITION.exec(text) ?? [];
  if (container === undefined || at === undefined) return undefined;
  return { container, mark: { stream: stream as LogMark['stream'], at, count: Number(count) } };
}
