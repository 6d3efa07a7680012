import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { HistoryRecord } from '../history/index.js';
import { programArguments } from '../../pkg/version/index.js';
import type { Order } from './client-process.js';
import { type ClientHistory, type Progress, RecordingClient, type RecordingClientOptions } from './recording-client.js';

/** A recording client, in this process or in another. */
export interface WorkloadClient {
  readonly progress: Progress;
  quiesce(): Promise<void>;
  finish(revision: number): Promise<ClientHistory>;
  /** Freezes it, and lets it go on. Nothing happens to one in this process. */
  freeze(): void;
  thaw(): void;
}

/** Starts a client in this process. */
export function startWorkloadClient(options: RecordingClientOptions): WorkloadClient {
  const client = new RecordingClient(options);
  client.start();
  return {
    progress: client.progress,
    quiesce: () => client.quiesce(),
    finish: revision => client.finish(revision),
    freeze: () => undefined,
    thaw: () => undefined,
  };
}

const PROGRAM = programArguments('e2e/cluster/client-process.ts');

/** A client in a process of its own. */
export class ClientProcess implements WorkloadClient {
  readonly #child: ChildProcess;
  readonly #file: string;
  #progress: Progress = { write: 0, read: 0, cache: 0, lease: 0, tail: 0, lead: 0 };

  constructor(options: RecordingClientOptions, folder: string) {
    this.#file = join(folder, `${options.name}.ndjson`);
    const argument = JSON.stringify({ ...options, file: this.#file });
    this.#child = fork(PROGRAM.at(-1)!, [argument], { execArgv: PROGRAM.slice(0, -1) });
    this.#child.on('message', (message: { readonly progress?: Progress }) => {
      if (message.progress) this.#progress = message.progress;
    });
    const end = () => this.#child.kill('SIGKILL');
    process.once('exit', end);
    this.#child.once('exit', () => process.off('exit', end));
  }

  get progress(): Progress {
    return this.#progress;
  }

  quiesce(): Promise<void> {
    return this.#order({ do: 'quiesce' });
  }

  async finish(revision: number): Promise<ClientHistory> {
    await this.#order({ do: 'finish', revision });
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
    const [first, ...records] = readFileSync(this.#file, 'utf8').split('\n');
    const { cached } = JSON.parse(first!) as Pick<ClientHistory, 'cached'>;
    return { cached, records: records.map(line => JSON.parse(line) as HistoryRecord) };
  }

  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  #order(order: Order): Promise<void> {
    return new Promise((resolve, reject) => {
      const hear = (message: { readonly done?: string }) => {
        if (message.done !== order.do) return;
        this.#child.off('message', hear);
        this.#child.off('exit', died);
        resolve();
      };
      const died = () => reject(new Error(`a client process ended before it could ${order.do}`));
      this.#child.on('message', hear);
      this.#child.once('exit', died);
      this.#child.send(order);
    });
  }
}
