import { readFileSync } from 'node:fs';

import type { Clock, Random } from '../clock/index.js';
import type { Settings } from '../config/index.js';
import type { Logger } from '../log/index.js';
import { EtcdStore } from './etcd/etcd-store.js';

type EtcdSettings = Pick<Settings, 'etcdEndpoints' | 'etcdPrefix' | 'etcdCaFile' | 'etcdCertFile' | 'etcdKeyFile'>;

/** The store that the settings name. Connecting is left to the first call. */
export function openEtcdStore(
  settings: EtcdSettings,
  env: { readonly clock: Clock; readonly random: Random; readonly log: Logger },
): EtcdStore {
  const { etcdEndpoints: endpoints, etcdPrefix: prefix, etcdCaFile, etcdCertFile, etcdKeyFile } = settings;
  return new EtcdStore({
    ...env,
    endpoints,
    prefix,
    tls: {
      ...(etcdCaFile && { ca: readFileSync(etcdCaFile) }),
      ...(etcdCertFile && { cert: readFileSync(etcdCertFile) }),
      ...(etcdKeyFile && { key: readFileSync(etcdKeyFile) }),
    },
  });
}
