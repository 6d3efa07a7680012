import { readFileSync } from 'node:fs';

import { type Clock, type Random, sleep } from '../clock/index.js';
import type { Settings } from '../config/index.js';
import { Fault } from '../fault/index.js';
import type { Logger } from '../log/index.js';
import { EtcdStore } from './etcd/etcd-store.js';

type EtcdSettings = Pick<Settings, 'etcdEndpoints' | 'etcdPrefix' | 'etcdCaFile' | 'etcdCertFile' | 'etcdKeyFile'>;

/** The store that the settings name. Connecting is left to the first call. */
export function openEtcdStore(
  settings: EtcdSettings,
  env: { readonly clock: Clock; readonly random: Random; readonly log: Logger },
): EtcdStore {
  const { etcdEndpoints: endpoints, etcdPrefix: prefix, etcdCaFile, etcdCertFile, etcdKeyFile } = settings;
  const tls = () => ({
    ...(etcdCaFile && { ca: readFileSync(etcdCaFile) }),
    ...(etcdCertFile && { cert: readFileSync(etcdCertFile) }),
    ...(etcdKeyFile && { key: readFileSync(etcdKeyFile) }),
  });
  tls(); // a file that cannot be read throws at once
  return new EtcdStore({ ...env, endpoints, prefix, tls });
}

const RETRY_MS = 1_000;

/**
 * Does what a process must do before it serves, again and again while that fails only because the store cannot be
 * reached. Undefined when `signal` was aborted first.
 */
export async function retryUntilReachable<Result>(
  work: () => Promise<Result>,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
  signal: AbortSignal,
): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof Fault) || !thrown.retriable) throw thrown;
      log.warn('the store cannot be reached yet, retrying: check that etcd runs and that etcdEndpoints names it', {
        error: thrown,
      });
      await sleep(clock, RETRY_MS, signal);
    }
  }
  return undefined;
}
