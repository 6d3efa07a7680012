/**
 * The part of an agent that keeps volumes, in a process of its own: `idle-node.ts <folder> <node> <count>`. Prints its peer as JSON. For
 * each line that it reads, `primary` or `replica` and the peer as JSON, it takes that part for all its volumes; for any other it prints how
 * many copies are complete and the processor time that it has used, in microseconds.
 */
import { generateKeyPairSync, createPublicKey } from 'node:crypto';
import { uptime } from 'node:os';
import { createInterface } from 'node:readline';

import type { AssignedVolume, SeenVolume, VolumePeer, VolumeRole } from '../../crds/volume/index.js';
import type { AgentEnv } from '../../pkg/agent/agent-env.js';
import { createDirectoryDisk } from '../../pkg/agent/disk.js';
import { NodeVolumes } from '../../pkg/agent/node-volumes.js';
import { TlsPeers } from '../../pkg/agent/replication/index.js';
import { openVolumeDriver } from '../../pkg/agent/volumes/index.js';
import { systemClock as clock, systemRandom as random } from '../../pkg/clock/index.js';
import { silentLogger as log } from '../../pkg/log/index.js';

const [root = '', nodeId = '', count = '0'] = process.argv.slice(2);
/** As often as the agent looks at its disk. */
const LOOK_MS = 60_000;

const volumes = await openVolumeDriver('btrfs', { clock, root, reserveBytes: 2 ** 30 });
await volumes.recover();
const { privateKey: key } = generateKeyPairSync('ed25519');
const peers = await TlsPeers.open({ key, clock, listen: { host: '127.0.0.1', port: 0 } });
const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
const seen = new Map<string, SeenVolume>();
const report = async (told: readonly SeenVolume[]) => told.forEach(each => seen.set(each.id, each));
const uptimeMs = () => uptime() * 1000;
const disk = createDirectoryDisk(root);
const env = { clock, random, log, disk, volumes, peers, uptimeMs, engine: {} } as unknown as AgentEnv;
const node = new NodeVolumes(env, report, async () => undefined);
const end = new AbortController();
const parts = { view: { containers: [] }, queue: { add: () => undefined }, dial: { again: () => undefined } };
void node.replicate(parts as never, end.signal);

const timers: NodeJS.Timeout[] = [];

function assign(role: VolumeRole, peer: VolumePeer): void {
  const replication = { epoch: 1, role, peers: [peer], intervalSeconds: 5, fenceAfterSeconds: 30 };
  const wanted = Array.from({ length: Number(count) }, (_, at): AssignedVolume => {
    const id = `vol_01jx4t9mk3v8q2zr5w7y6${String(at).padStart(5, '0')}`;
    return { id, name: `data-${at}`, type: 'volume', sizeBytes: 128 * 2 ** 20, replication };
  });
  node.assign(wanted, true);
  timers.push(setInterval(() => node.check(), LOOK_MS));
  timers.push(setInterval(() => node.fence.heard(node.fence.now()), 5_000));
}

console.log(JSON.stringify({ nodeId, publicKey, address: peers.address }));
for await (const line of createInterface(process.stdin)) {
  const [, role, peer] = /^(primary|replica) (.*)$/.exec(line) ?? [];
  if (role !== undefined) assign(role as VolumeRole, JSON.parse(peer!) as VolumePeer);
  else {
    const complete = [...seen.values()].filter(({ copies = [] }) => copies.some(({ state }) => state === 'synced'));
    const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ complete: complete.length, used: user + system }));
  }
}
timers.forEach(clearInterval);
node.forget();
end.abort();
await node.queue.stop(10_000);
for (const { id } of await volumes.list()) await volumes.remove(id);
process.exit();
