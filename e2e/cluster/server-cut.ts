import { setTimeout as pause } from 'node:timers/promises';

import { keys } from '../../crds/keys/index.js';
import { findFreePort, TcpProxy } from '../../dev/processes/index.js';
import { create } from '../../pkg/store/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { unwrap } from '../lab/tenant-client.js';
import { pollUntil } from './poll-until.js';
import { readSharedClock } from './recording-client.js';

export interface ServerCutOptions {
  /** How long the server is cut off from etcd. */
  readonly cutMs: number;
  /** How long a write is waited for afterwards. */
  readonly giveUpAfterMs: number;
}

export interface ServerCutResult {
  /** Writes that were asked for. */
  readonly operations: number;
  /** Milliseconds from the healing until the first of them was acknowledged. */
  readonly resumedAfterMs: number;
}

/** Enough that no two writes that are under way at the same time are to one deployment. */
const DEPLOYMENTS = 64;
const WRITE_EVERY_MS = 200;
const CALM_MS = 1_000;

/**
 * Cuts a real API server off from etcd, which is compacted meanwhile, and lets clients write all the time: what a client of the
 * store sees is measured by `faults`; here the server's cache, its barrier and its admission stand between.
 */
export async function measureServerCut({ cutMs, giveUpAfterMs }: ServerCutOptions): Promise<ServerCutResult> {
  const etcdPort = await findFreePort();
  const proxy = await TcpProxy.start(etcdPort);
  const settings = {
    MOORING_REGISTRY_CHECK: 'false',
    MOORING_ETCD_ENDPOINTS: `https://127.0.0.1:${proxy.port}`,
  };
  const plane = await ControlPlane.start(settings, { etcdPort });
  const store = plane.openStore(); // past the proxy
  const client = plane.client(plane.access.tenantToken);
  const acknowledged: number[] = [];
  const pending = new Set<Promise<void>>();
  let operations = 0;
  const write = async () => {
    const path = `/api/v1/deployments/cut-${operations++ % DEPLOYMENTS}`;
    const answer = await client.request('PUT', path, { body: { labels: { write: String(operations) } } });
    if (answer.ok) acknowledged.push(readSharedClock());
  };
  const begin = () => {
    const writing = write()
      .catch(() => undefined) // a write that is not answered says nothing
      .finally(() => pending.delete(writing));
    pending.add(writing);
  };
  const image = 'registry.example.com/shop/web:1.4.2';
  let ticking: NodeJS.Timeout | undefined;
  try {
    for (let n = 0; n < DEPLOYMENTS; n++) {
      const body = { kind: 'Deployment', name: `cut-${n}`, image, replicas: 0 };
      unwrap(await client.request('POST', '/api/v1/deployments', { body }));
    }
    ticking = setInterval(begin, WRITE_EVERY_MS);
    await pause(CALM_MS);
    proxy.mode = 'blackhole';
    await pause(cutMs);
    await create(store, keys.conflict(plane.access.tenant.id, 'cut'), {});
    await store.compact(await store.revision());
    proxy.forget(); // the server has to find out by itself
    proxy.mode = 'pass';
    const healed = readSharedClock();
    const first = await pollUntil('a write to be acknowledged', giveUpAfterMs, async () =>
      acknowledged.find(at => at > healed),
    );
    return { operations, resumedAfterMs: first - healed };
  } finally {
    clearInterval(ticking);
    await Promise.all(pending);
    await store.close();
    await plane.stop();
    await proxy.stop();
  }
}
