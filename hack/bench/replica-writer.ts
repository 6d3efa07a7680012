/**
 * The other side of the scheduler, in a process of its own: writes deployments with one waiting replica each, as the API
 * server and the replica keeper would, and watches until all of them have a node. Prints the seconds from the first to the
 * last that it sees: `replica-writer.ts <endpoint> <how many> <that fit nowhere, each second>`.
 */
import { setTimeout as pause } from 'node:timers/promises';

import { ranges } from '../../crds/keys/index.js';
import { EtcdStore, type WatchEvent } from '../../pkg/store/index.js';
import { makeDeploymentPuts, PREFIX, storeAll } from './scheduler-state.js';

const [endpoint = '', count = '0', misfits = '0'] = process.argv.slice(2);
const AT_ONCE = 500;
const HUGE = { resources: { cpu: '64', memory: '512Gi' } };
const store = new EtcdStore({ endpoints: [endpoint], prefix: PREFIX });
let isDone = false;

/** Seconds between the first and the last of `wanted` replicas that the watch shows with a node. */
function bindingsSeen(wanted: number): Promise<number> {
  return new Promise(resolve => {
    let [seen, begun] = [0, 0];
    const note = ({ key, entry }: WatchEvent) => {
      if (!key.startsWith(ranges.replicas) || !entry?.bytes.includes('"nodeId"')) return;
      if (++seen === 1) begun = performance.now();
      if (seen === wanted) resolve((performance.now() - begun) / 1_000);
    };
    const feed = { onReset: () => undefined, onEvents: (all: readonly WatchEvent[]) => all.forEach(note) };
    void store.follow({ ...feed, onConnected: () => undefined }, {}, new AbortController().signal);
  });
}

async function writeMisfits(perSecond: number): Promise<void> {
  for (let number = 0; !isDone && perSecond > 0; number++) {
    await storeAll(store, makeDeploymentPuts('tenant-0', `huge-${number}`, HUGE));
    await pause(1_000 / perSecond);
  }
}

const seconds = bindingsSeen(Number(count));
void writeMisfits(Number(misfits));
for (let from = 0; from < Number(count); from += AT_ONCE) {
  const names = Array.from({ length: Math.min(AT_ONCE, Number(count) - from) }, (_, n) => `web-${from + n}`);
  await storeAll(
    store,
    names.flatMap(name => makeDeploymentPuts('tenant-0', name, {})),
  );
}
console.log(await seconds);
isDone = true;
process.exit();
