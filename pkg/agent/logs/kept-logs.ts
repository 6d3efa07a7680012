import { asError } from '../../fault/index.js';
import { again, done, type ReconcileResult } from '../../reconcile/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { Assignments } from '../assignments.js';
import type { ContainerStatus, LogEntry } from '../engine/index.js';
import { type MarkedEntry, type LogMark, markEntries } from './log-reader.js';

/** What is kept of one slot, and of how many slots: 64 MiB at most. The rest is removed, oldest first. */
const KEPT_BYTES = 512 * 1024;
const KEPT_SLOTS = 128;
/** More entries than this are not read to find the last ones. */
const READ_ENTRIES = 8_192;
const READ_WITHIN_MS = 10_000;

const FILE = /^ended-log\.([A-Za-z0-9_]{1,64})\.(\d{1,7})\.json$/;

/** The end of the log of a container that is no more. */
export interface KeptLog {
  readonly nodeId: string;
  readonly deploymentUid: string;
  readonly slot: number;
  readonly container: string;
  /** When it was removed. */
  readonly removedAt: string;
  /** Whether it was longer than what is kept. */
  readonly isCut: boolean;
  readonly entries: readonly MarkedEntry[];
}

type StoredEntry = readonly [stream: LogEntry['stream'], at: string, count: number, base64: string];
type StoredLog = Omit<KeptLog, 'entries'> & { readonly entries: readonly StoredEntry[] };
type KeptLogsEnv = Pick<AgentEnv, 'engine' | 'disk' | 'clock' | 'log'>;

/**
 * The end of the log of the last removed container of each slot, in the agent's folder.
 *
 * The container itself is not kept: its environment has secrets, and its file system no bound. A log is removed when its
 * deployment is gone, when the next container of the slot is removed, and when the machine becomes another node.
 */
export class KeptLogs {
  readonly #env: KeptLogsEnv;
  readonly #nodeId: string;
  /** Names of files, the oldest first. */
  #files: readonly string[] = [];

  private constructor(env: KeptLogsEnv, nodeId: string) {
    this.#env = env;
    this.#nodeId = nodeId;
  }

  /** Removes what was kept for another node, or cannot be read. */
  static async load(env: KeptLogsEnv, nodeId: string): Promise<KeptLogs> {
    const kept = new KeptLogs(env, nodeId);
    const found: { readonly name: string; readonly removedAt: string }[] = [];
    for (const name of (await env.disk.list()).filter(each => FILE.test(each))) {
      const log = await kept.#load(name);
      if (log) found.push({ name, removedAt: log.removedAt });
      else await env.disk.remove(name);
    }
    kept.#files = found.toSorted((a, b) => a.removedAt.localeCompare(b.removedAt)).map(({ name }) => name);
    return kept;
  }

  get deploymentUids(): readonly string[] {
    return [...new Set(this.#files.map(name => FILE.exec(name)?.[1] ?? ''))];
  }

  async find(deploymentUid: string, slot: number): Promise<KeptLog | undefined> {
    const name = toFileName({ deploymentUid, slot });
    return this.#files.includes(name) ? this.#load(name) : undefined;
  }

  /** Keeps the log of a container that is about to be removed. That it cannot be kept does not keep the container. */
  async keep({ id, owner, state }: ContainerStatus): Promise<void> {
    const { clock, disk, log } = this.#env;
    if (state === 'created') return; // it never ran
    try {
      const { entries, isCut } = await this.#readEnd(id);
      const { deploymentUid, slot } = owner;
      const head = { nodeId: this.#nodeId, deploymentUid, slot, container: id, isCut };
      const stored: StoredLog = {
        ...head,
        removedAt: new Date(clock.now()).toISOString(),
        entries: entries.map(toStored),
      };
      const name = toFileName(owner);
      await disk.write(name, JSON.stringify(stored));
      this.#files = [...this.#files.filter(other => other !== name), name];
      await this.#remove(this.#files.slice(0, Math.max(0, this.#files.length - KEPT_SLOTS)));
    } catch (thrown) {
      log.warn('could not keep the log of a container that is removed', { container: id, error: asError(thrown) });
    }
  }

  /** Removes the logs of these deployments. */
  async forget(deploymentUids: readonly string[]): Promise<void> {
    await this.#remove(this.#files.filter(name => deploymentUids.includes(FILE.exec(name)?.[1] ?? '')));
  }

  async #readEnd(id: string): Promise<{ readonly entries: readonly MarkedEntry[]; readonly isCut: boolean }> {
    const { clock, engine } = this.#env;
    const deadline = new AbortController();
    const cancel = clock.after(READ_WITHIN_MS, () => deadline.abort());
    try {
      const entries: MarkedEntry[] = [];
      let [bytes, read] = [0, 0];
      for await (const marked of markEntries(engine.logs(id, { tail: READ_ENTRIES }, deadline.signal))) {
        read++;
        entries.push(marked);
        bytes += marked.entry.bytes.length;
        // Dropped while it is read: a whole log is larger than what many removals at once may hold.
        while (bytes > KEPT_BYTES) bytes -= entries.shift()!.entry.bytes.length;
      }
      return { entries, isCut: entries.length < read || read >= READ_ENTRIES };
    } finally {
      cancel();
    }
  }

  async #load(name: string): Promise<KeptLog | undefined> {
    try {
      const stored = JSON.parse((await this.#env.disk.read(name)) ?? 'null') as StoredLog | null;
      if (stored?.nodeId !== this.#nodeId || toFileName(stored) !== name) return undefined;
      return { ...stored, entries: stored.entries.map(fromStored) };
    } catch {
      this.#env.log.warn('a kept log cannot be read', { key: name }); // the error may quote it
      return undefined;
    }
  }

  async #remove(names: readonly string[]): Promise<void> {
    for (const name of names) await this.#env.disk.remove(name);
    this.#files = this.#files.filter(name => !names.includes(name));
  }
}

const PRUNE_AGAIN_MS = 30_000;

/** Removes the kept logs of deployments and jobs that are gone. Looks again for as long as one may be deleted with nothing left here. */
export async function pruneKeptLogs(
  { kept, assignments }: { readonly kept: KeptLogs; readonly assignments: Assignments },
  findGone: (uids: readonly string[]) => Promise<readonly string[]>,
): Promise<ReconcileResult> {
  const here = new Set(assignments.uids.map(uid => assignments.get(uid)?.deploymentUid));
  const idle = kept.deploymentUids.filter(uid => !here.has(uid));
  if (idle.length === 0) return done;
  const gone = await findGone(idle);
  await kept.forget(gone);
  return gone.length === idle.length ? done : again(PRUNE_AGAIN_MS, 'the log of a deployment is kept');
}

/** What a kept log has after a mark; with `hasGap` when the mark, and so perhaps more, is not in it. */
export function selectAfter(
  { entries, isCut }: KeptLog,
  mark: LogMark,
): { readonly entries: readonly MarkedEntry[]; readonly hasGap: boolean } {
  const place = entries.findLastIndex(
    each => each.mark.stream === mark.stream && each.mark.at === mark.at && each.mark.count === mark.count,
  );
  return { entries: entries.slice(place + 1), hasGap: place === -1 && isCut };
}

function toFileName({ deploymentUid, slot }: Pick<KeptLog, 'deploymentUid' | 'slot'>): string {
  return `ended-log.${deploymentUid}.${slot}.json`;
}

function toStored({ entry, mark }: MarkedEntry): StoredEntry {
  return [entry.stream, entry.at, mark.count, entry.bytes.toString('base64')];
}

function fromStored([stream, at, count, base64]: StoredEntry): MarkedEntry {
  return { entry: { stream, at, bytes: Buffer.from(base64, 'base64') }, mark: { stream, at, count } };
}
