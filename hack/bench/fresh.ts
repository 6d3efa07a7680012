import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EtcdProcess } from '../../dev/processes/index.js';

/** Runs one cell on a new etcd: earlier work of an etcd changes how fast it is afterwards. */
export async function onFreshEtcd<T>(measure: (etcd: EtcdProcess) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const etcd = await EtcdProcess.start({
    dataDir: join(folder, 'etcd'),
    arguments: ['--quota-backend-bytes=8589934592'],
  });
  try {
    return await measure(etcd);
  } finally {
    await etcd.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}
