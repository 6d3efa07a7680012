import { createHash } from 'node:crypto';

import type { AdvertisedCondition } from '../../crds/node/index.js';
import { asError, Fault } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import type { Disk } from './disk.js';

/** What must be on disk before the agent goes on is not there. */
export class StateFolderFault extends Fault {
  readonly retriable = true;
}

const PROBE_FILE = 'probe';
/** A disk that is full still takes a name, and one that packs what it keeps takes much of what is always the same. */
const PROBE = createHash('shake256', { outputLength: 48 * 1024 }).digest('base64');

/** The disk of an agent that goes on without it where it can: a full disk is no reason to leave containers stopped. */
export class StateFolder implements Disk {
  readonly #disk: Disk;
  readonly #log: Logger;
  /** What is not on disk yet, the newest of each file. */
  readonly #unwritten = new Map<string, string>();
  #writing: Promise<void> = Promise.resolve();
  #failure: string | undefined;

  constructor(disk: Disk, log: Logger) {
    this.#disk = disk;
    this.#log = log;
  }

  /** What operators should see of it: nothing while it can be written. */
  get conditions(): readonly AdvertisedCondition[] {
    if (this.#failure === undefined) return [];
    const reason = 'state_folder_unwritable';
    return [{ type: 'StateFolderWritable', status: 'False', reason, message: this.#failure }];
  }

  async read(name: string): Promise<string | undefined> {
    return this.#unwritten.get(name) ?? this.#disk.read(name);
  }

  async write(name: string, text: string): Promise<void> {
    try {
      await this.#disk.write(name, text);
    } catch (thrown) {
      this.#unwritten.set(PROBE_FILE, PROBE); // nothing else writes this again: a shorter text that fits says nothing
      throw new StateFolderFault(this.#noteFailure(thrown), { cause: thrown });
    }
    this.#noteSuccess();
  }

  /** Never fails: what cannot be written is tried again with the next file, and by `probe`. */
  keep(name: string, text: string): Promise<void> {
    this.#unwritten.set(name, text);
    // One after the other, so that an older text never ends last.
    this.#writing = this.#writing.then(() => this.#flush());
    return this.#writing;
  }

  list(): Promise<readonly string[]> {
    return this.#disk.list();
  }

  remove(name: string): Promise<void> {
    return this.#disk.remove(name);
  }

  /** Looks whether there is room, also for an agent that has nothing to write. */
  async probe(): Promise<void> {
    await this.keep(PROBE_FILE, PROBE);
    if (!this.#unwritten.has(PROBE_FILE)) await this.#disk.remove(PROBE_FILE).catch(() => undefined); // the next one does
  }

  async #flush(): Promise<void> {
    for (const [name, text] of this.#unwritten) {
      try {
        await this.#disk.write(name, text);
      } catch (thrown) {
        this.#noteFailure(thrown);
        continue;
      }
      if (this.#unwritten.get(name) === text) this.#unwritten.delete(name);
      this.#noteSuccess();
    }
  }

  #noteFailure(thrown: unknown): string {
    const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
    const message = `the agent cannot write to its state folder (${code}): free some disk space, or give the folder to its user`;
    if (this.#failure === undefined) this.#log.warn(message, { error: asError(thrown) });
    this.#failure = message;
    return message;
  }

  #noteSuccess(): void {
    if (this.#failure === undefined || this.#unwritten.size > 0) return;
    this.#failure = undefined;
    this.#log.info('the agent can write to its state folder again');
  }
}
