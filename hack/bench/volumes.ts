import { execFile } from 'node:child_process';
import { randomFillSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

import { listMounts } from '../../pkg/agent/volumes/mounts.js';
import { openVolumeDriver } from '../../pkg/agent/volumes/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import type { BenchResult } from './report.js';
import { interleave, median, ratio } from './rounds.js';

const SOURCE = 'vol_01jx4t9mk3v8q2zr5w7y6n0rda';
const TARGET = 'vol_01jx4t9mk3v8q2zr5w7y6n0rdb';
const MEBIBYTE = 2 ** 20;
const CHANGED = 1024;
/** Longer than btrfs waits before it writes what has changed. */
const IDLE_MS = 35_000;

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

/** W23: what replication makes of the disk, against the tools by hand; and what a volume costs that nobody uses. */
export async function replicateVolumes(rounds: number): Promise<BenchResult[]> {
  const base = mkdtempSync(join(tmpdir(), 'mooring-bench-'));
  const driver = await openVolumeDriver('btrfs', { clock: systemClock, root: base, reserveBytes: 2 ** 30 });
  await driver.recover();
  try {
    for (const id of [SOURCE, TARGET]) await driver.materialise({ id, sizeBytes: 4 * 1024 * MEBIBYTE });
    await driver.snapshot(SOURCE, 'first');
    const send = async (snapshot: string, parent?: string) => {
      const { stream, digest } = await driver.send(SOURCE, snapshot, parent);
      await driver.receive(TARGET, stream, { snapshot, digest, ...(parent !== undefined && { parent }) });
    };
    await send('first');
    await writeRandom(join(await driver.mountPoint(SOURCE), 'changed'), CHANGED);
    await driver.snapshot(SOURCE, 'second');

    const store = (id: string) => join(base, id, 'store');
    const afresh = async (work: () => Promise<unknown>) => {
      const ms = await time(work);
      await driver.dropSnapshot(TARGET, 'second');
      await run('btrfs', ['subvolume', 'sync', store(TARGET)]);
      return ms;
    };
    const byHand = `btrfs send -q -p "$1/first" "$1/second" | btrfs receive -q "$2" && sync -f "$2"`;
    const { ours, alone } = await interleave(rounds, {
      ours: () => afresh(() => send('second', 'first')),
      alone: () => afresh(() => run('sh', ['-c', byHand, 'sh', store(SOURCE), store(TARGET)])),
    });
    const rate = (times: readonly number[]) => ((CHANGED * 1000) / median(times)).toFixed(0);
    const written = await countIdleWrites(store(SOURCE));
    return [
      {
        workload: 'W23',
        what: `${CHANGED} MiB of changed data sent and received, over btrfs send and receive by hand`,
        ratio: ratio(alone, ours),
        floor: 0.6,
        target: 0.85,
        larger: true,
        figures: `${rate(ours)} MiB/s against ${rate(alone)} MiB/s`,
      },
      {
        workload: 'W23b',
        what: `sectors written to a volume that nobody uses, in ${IDLE_MS / 1000} s`,
        ratio: ratio([written], [1]),
        floor: 0,
        target: 0,
        larger: false,
        figures: `${written} sectors`,
      },
    ];
  } finally {
    for (const { id } of await driver.list()) await driver.remove(id);
    rmSync(base, { recursive: true });
  }
}

async function countIdleWrites(store: string): Promise<number> {
  await run('sync', ['--file-system', store]);
  await pause(IDLE_MS); // what was begun before, such as the removal of snapshots, comes to its end
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
