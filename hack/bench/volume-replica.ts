/**
 * The node of a replica, in a process of its own, as the agent of another machine would be: `volume-replica.ts <folder> <public key of the
 * primary> <bytes>`. Prints its peer as JSON; makes its copy anew, and prints it again, for each line that it reads.
 */
import { createInterface } from 'node:readline';

import { LabNode, V } from '../../pkg/agent/replication/replication-lab.testing.js';
import { openVolumeDriver } from '../../pkg/agent/volumes/index.js';
import { systemClock } from '../../pkg/clock/index.js';

const [root = '', publicKey = '', size = '0'] = process.argv.slice(2);
const driver = await openVolumeDriver('btrfs', { clock: systemClock, root, reserveBytes: 2 ** 30, keepRemovedMs: 0 });
await driver.recover();
let node: LabNode | undefined;

async function begin(): Promise<void> {
  await node?.close();
  await driver.remove(V);
  node = await LabNode.open('node_b', driver, { sizeBytes: Number(size) });
  await node.assign('replica', 1, [{ nodeId: 'node_a', publicKey }]);
  console.log(JSON.stringify(node.asPeer));
}

await begin();
for await (const _line of createInterface(process.stdin)) await begin();
await node?.close();
await driver.remove(V);
