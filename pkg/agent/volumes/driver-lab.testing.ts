import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { expect } from 'chai';

import { systemClock } from '../../clock/index.js';
import { VolumeFault, type VolumeFaultCause } from './driver.js';
import { openVolumeDriver } from './open-driver.js';

export const A = 'vol_01jx4t9mk3v8q2zr5w7y6n0rda';
export const B = 'vol_01jx4t9mk3v8q2zr5w7y6n0rdb';
export const MIB = 2 ** 20;

/** The faults of a call; anything else that it does is an error of the test. */
export async function catchCause(call: Promise<unknown>): Promise<VolumeFaultCause> {
  const outcome = await call.then(
    () => 'it was done',
    (thrown: unknown) => thrown,
  );
  if (!(outcome instanceof VolumeFault)) throw new Error('no fault of a volume', { cause: outcome });
  expect(outcome.message, 'cause and remedy').to.match(/.; ./);
  expect(outcome.message).not.to.include(tmpdir());
  return outcome.why;
}

/** A stream as it would arrive, in pieces that split entries. */
export function arriving(bytes: Buffer, piece = 64 * 1024): Readable {
  const pieces = [];
  for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece));
  return Readable.from(pieces, { objectMode: false });
}

/** Everything below a folder: kinds, modes, owners, targets and contents, one line an entry. */
export function listTree(folder: string): string {
  const script =
    'cd "$1" && find . -printf "%P %y %m %U:%G %l %n\\n" | sort && find . -type f | sort | xargs -d "\\n" -r sha256sum';
  const { stdout, status, stderr } = spawnSync('sh', ['-c', script, 'sh', folder], { encoding: 'latin1' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/** A folder for a driver, and the driver. */
export async function openLab(choice: 'btrfs' | 'directory', reserveBytes = 0, keepRemovedMs = 0) {
  const base = mkdtempSync(join(tmpdir(), 'mooring-volumes-'));
  const root = join(base, 'volumes');
  const driver = await openVolumeDriver(choice, { clock: systemClock, root, reserveBytes, keepRemovedMs });
  await driver.recover();
  return {
    root,
    driver,
    async close() {
      for (const { id } of await driver.list()) await driver.remove(id);
      rmSync(base, { recursive: true, force: true });
    },
  };
}

export type Lab = Awaited<ReturnType<typeof openLab>>;

/** Has a lab of its own for each test, handed to `take`; answers what makes a volume there and says where its files are. */
export function openEach(choice: 'btrfs' | 'directory', sizeBytes: number, take: (lab: Lab) => void) {
  let lab: Lab;
  beforeEach(async () => {
    lab = await openLab(choice);
    take(lab);
  });
  afterEach(() => lab.close());
  return async (id: string): Promise<string> => {
    await lab.driver.materialise({ id, sizeBytes });
    return lab.driver.mountPoint(id);
  };
}
