import { execFile, spawn } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

import type { VolumePeer } from '../../crds/volume/index.js';
import { Bandwidth } from '../../pkg/agent/replication/bandwidth.js';
import { formatSyncName } from '../../pkg/agent/replication/messages.js';
import { LabNode, V } from '../../pkg/agent/replication/replication-lab.testing.js';
import { sendSnapshot } from '../../pkg/agent/replication/send-snapshot.js';
import { listMounts } from '../../pkg/agent/volumes/mounts.js';
import { openVolumeDriver, type VolumeDriver } from '../../pkg/agent/volumes/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import { programArguments } from '../../pkg/version/index.js';
import type { BenchResult } from './report.js';
import { interleave, median, ratio } from './rounds.js';

const BY_HAND = 'vol_01jx4t9mk3v8q2zr5w7y6n0rdb';
const MEBIBYTE = 2 ** 20;
const SIZE = 4 * 1024 * MEBIBYTE;
const TERM = { epoch: 1, generationId: '0'.repeat(16), run: '0'.repeat(8) };
const [FIRST, SECOND] = [formatSyncName(TERM, 1), formatSyncName(TERM, 2)];
const CHANGED = 1024;
/** Longer than btrfs waits before it writes what has changed. */
const IDLE_MS = 35_000;
/** Within this the kernel has given back, in one more commit, the chunks that dropped snapshots have left empty. */
const SETTLED_MS = 90_000;

const run = promisify(execFile);

async function writeRandom(path: string, mebibytes: number): Promise<void> {
  const block = Buffer.alloc(MEBIBYTE);
  const file = await open(path, 'w');
  for (let written = 0; written < mebibytes; written++) await file.write(randomFillSync(block));
  await file.sync();
  await file.close();
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** The node of a replica, as a process of its own. */
function startReplica(folder: string, { publicKey }: LabNode) {
  const words = [...programArguments('hack/bench/volume-replica.ts'), folder, publicKey, String(SIZE)];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async () => JSON.parse((await lines.next()).value as string) as VolumePeer;
  return {
    next,
    async makeAnew() {
      child.stdin.write('again\n');
      return next();
    },
    async end() {
      child.stdin.end();
      await once(child, 'close');
    },
  };
}

/** Sends one snapshot as an agent does: over TLS, to the agent of another node. */
async function send(from: LabNode, { address = '', publicKey }: VolumePeer, name: string): Promise<void> {
  const { signal } = new AbortController();
  const stream = await from.peers.connect({ address, publicKey }, signal);
  const order = {
    volume: V,
    term: TERM,
    choose: async () => ({ name, at: new Date(0).toISOString() }),
    hold: () => undefined,
    estimate: async () => undefined,
    onProgress: () => undefined,
  };
  const bandwidth = new Bandwidth(systemClock, undefined);
  await sendSnapshot(stream, order, { clock: systemClock, driver: from.driver, bandwidth, stallMs: 60_000, signal });
}

/** W23: what replication makes of disk and network, against the tools by hand; and what an idle replicated volume costs. */
export async function replicateVolumes(rounds: number): Promise<BenchResult[]> {
  const base = mkdtempSync(join(tmpdir(), 'mooring-bench-'));
  const store = (id: string) => join(base, 'a', id, 'store');
  const driver = await openVolumeDriver('btrfs', {
    clock: systemClock,
    root: join(base, 'a'),
    reserveBytes: 2 ** 30,
    keepRemovedMs: 0,
  });
  await driver.recover();
  const primary = await LabNode.open('node_a', driver, { sizeBytes: SIZE });
  const replica = startReplica(join(base, 'b'), primary);
  try {
    await replica.next();
    await prepare(driver, store);
    const sendByHand = (words: string) =>
      run('sh', [
        '-c',
        `btrfs send -q ${words} | btrfs receive -q "$2" && sync -f "$2"`,
        'sh',
        store(V),
        store(BY_HAND),
      ]);
    await sendByHand(`"$1/${FIRST}"`);
    const { ours, alone } = await interleave(rounds, {
      async ours() {
        const peer = await replica.makeAnew();
        await send(primary, peer, FIRST);
        return time(() => send(primary, peer, SECOND));
      },
      async alone() {
        const ms = await time(() => sendByHand(`-p "$1/${FIRST}" "$1/${SECOND}"`));
        await driver.dropSnapshot(BY_HAND, SECOND);
        await run('btrfs', ['subvolume', 'sync', store(BY_HAND)]);
        return ms;
      },
    });
    const rate = (times: readonly number[]) => ((CHANGED * 1000) / median(times)).toFixed(0);
    const written = await countIdle(primary, await replica.makeAnew(), [store(V), join(base, 'b', V, 'store')]);
    return [
      {
        workload: 'W23',
        what: `${CHANGED} MiB of changed data sent to another agent over TLS, over btrfs send and receive by hand`,
        ratio: ratio(alone, ours),
        floor: 0.6,
        target: 0.85,
        larger: true,
        figures: `${rate(ours)} MiB/s against ${rate(alone)} MiB/s`,
      },
      {
        workload: 'W23b',
        what: `sectors written to an idle replicated volume, and to its copy, in ${IDLE_MS / 1000} s`,
        ratio: ratio([written], [1]),
        floor: 0,
        target: 0,
        larger: false,
        figures: `${written} sectors`,
      },
    ];
  } finally {
    await primary.close();
    await replica.end();
    for (const { id } of await driver.list()) await driver.remove(id);
    rmSync(base, { recursive: true });
  }
}

async function prepare(driver: VolumeDriver, store: (id: string) => string): Promise<void> {
  for (const id of [V, BY_HAND]) await driver.materialise({ id, sizeBytes: SIZE });
  await driver.snapshot(V, FIRST);
  await writeRandom(join(await driver.mountPoint(V), 'changed'), CHANGED);
  await driver.snapshot(V, SECOND);
  await run('sync', ['--file-system', store(V)]);
}

/** Replicates as an agent does, in an interval of five seconds, and counts what that writes on both ends once it is at rest. */
async function countIdle(primary: LabNode, peer: VolumePeer, stores: readonly string[]): Promise<number> {
  for (const name of [FIRST, SECOND]) await primary.driver.dropSnapshot(V, name);
  const volume = await primary.assign('primary', 1, [peer], { intervalSeconds: 5 });
  for (;;) {
    const [copy] = (await primary.replication.describe(volume)).copies ?? [];
    if (copy?.state === 'synced') break;
    await pause(500);
  }
  const written = await Promise.all(stores.map(countIdleWrites));
  return written.reduce((sum, count) => sum + count, 0);
}

async function countIdleWrites(store: string): Promise<number> {
  // The kernel removes dropped snapshots by and by, and writes that down later still: both belong to what was changed before.
  await run('btrfs', ['subvolume', 'sync', store]);
  await run('sync', ['--file-system', store]);
  await pause(SETTLED_MS);
  const device = (await listMounts()).find(({ path }) => path === store)!.source;
  const read = () =>
    Number(
      readFileSync(`/sys/block/${basename(device)}/stat`, 'utf8')
        .trim()
        .split(/\s+/)[6],
    );
  const before = read();
  await pause(IDLE_MS);
  return read() - before;
}
