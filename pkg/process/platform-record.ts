import { hostname } from 'node:os';

import { isDnsLabel } from '../../crds/grammar/index.js';
import { keys } from '../../crds/keys/index.js';
import { type Clock, type Random, sleep } from '../clock/index.js';
import { InvalidSettingFault, type Settings } from '../config/index.js';
import { asError } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { encode, type Lease, type Store } from '../store/index.js';

/** Value of `platform/<node name>/<process>`. */
export interface PlatformPresence {
  /** `server` or `controllers`. */
  readonly program: string;
  readonly since: string;
}

export interface PlatformRecordOptions {
  readonly store: Pick<Store, 'grant' | 'keepAlive' | 'commit' | 'revoke'>;
  readonly clock: Clock;
  readonly random: Pick<Random, 'bytes'>;
  readonly log: Logger;
  readonly program: string;
  /** The node that this process runs on. */
  readonly node: string;
  /** How long the record counts after its process has ended without a word. */
  readonly ttlSeconds: number;
}

/**
 * The name of the node that this process runs on: as set, or as an agent on this machine would be called. Undefined where the
 * machine has a name that no node can have.
 */
export function findOwnNode({ nodeName }: Pick<Settings, 'nodeName'>, machine = hostname()): string | undefined {
  if (nodeName !== '' && !isDnsLabel(nodeName)) {
    throw new InvalidSettingFault(`setting "nodeName": "${nodeName}" must be the name of a node`);
  }
  const name = nodeName || machine.toLowerCase().split('.')[0]!;
  return isDnsLabel(name) ? name : undefined;
}

/**
 * Keeps a record that a process of the control plane runs on a node: the node monitor reads from it, while it is fresh, that
 * the control plane's own node is alive.
 *
 * Each process has a key of its own, on a lease: a record that was lost, or whose lease has ended, is written again.
 */
export class PlatformRecord {
  readonly #options: PlatformRecordOptions;
  readonly #key: string;
  readonly #since: string;
  #lease: Lease | undefined;

  constructor(options: PlatformRecordOptions) {
    const { node, program, random, clock } = options;
    this.#options = options;
    this.#key = keys.platform(node, `${program}-${random.bytes(8).toString('hex')}`);
    this.#since = new Date(clock.now()).toISOString();
  }

  /** Keeps the record until aborted, then removes it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, ttlSeconds, store } = this.#options;
    while (!signal.aborted) {
      try {
        if (!this.#lease || !(await store.keepAlive(this.#lease.id))) await this.#write();
      } catch (thrown) {
        log.debug('the record of this process could not be renewed, retrying', { error: asError(thrown) });
      }
      await sleep(clock, (ttlSeconds * 1000) / 3, signal);
    }
    if (this.#lease) await store.revoke(this.#lease.id).catch(() => undefined); // it ends by itself
  }

  async #write(): Promise<void> {
    const { store, program, ttlSeconds } = this.#options;
    this.#lease = undefined;
    const lease = await store.grant(ttlSeconds);
    const bytes = encode({ program, since: this.#since } satisfies PlatformPresence);
    const puts = [{ key: this.#key, bytes, lease: lease.id }];
    const verdict = await store.commit({ guards: [{ key: this.#key, at: 0 }], puts, deletes: [] });
    // A record that is still there is on a lease that is about to end: the next turn writes it anew.
    if (verdict.stored) this.#lease = lease;
    else await store.revoke(lease.id);
  }
}
