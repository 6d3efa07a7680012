/**
 * Writes deployments with one waiting replica each, as the API server and the replica keeper would, from a process of its
 * own: `replica-writer.ts <endpoint> <how many> <that fit nowhere, each second>`. Ends when all that fit are written.
 */
import { setTimeout as pause } from 'node:timers/promises';

import { EtcdStore } from '../../pkg/store/index.js';
import { deploymentPuts, PREFIX, write } from './scheduler-world.js';

const [endpoint = '', count = '0', misfits = '0'] = process.argv.slice(2);
const store = new EtcdStore({ endpoints: [endpoint], prefix: PREFIX });
const AT_ONCE = 500;
const HUGE = { resources: { cpu: '64', memory: '512Gi' } };

let isWriting = true;
async function writeMisfits(perSecond: number): Promise<void> {
  for (let number = 0; isWriting && perSecond > 0; number++) {
    await write(store, deploymentPuts('tenant-0', `huge-${number}`, HUGE));
    await pause(1_000 / perSecond);
  }
}

const misfitting = writeMisfits(Number(misfits));
for (let from = 0; from < Number(count); from += AT_ONCE) {
  const names = Array.from({ length: Math.min(AT_ONCE, Number(count) - from) }, (_, n) => `web-${from + n}`);
  await write(
    store,
    names.flatMap(name => deploymentPuts('tenant-0', name, {})),
  );
}
isWriting = false;
await misfitting;
await store.close();
process.exit();
