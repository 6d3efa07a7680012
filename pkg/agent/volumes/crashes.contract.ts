import { spawnSync } from 'node:child_process';
import { createReadStream, readdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { expect } from 'chai';

import { toScriptArguments } from '../../../dev/testing/index.js';
import { A, B, type Lab, openLab } from './driver-lab.testing.js';

/** What a killed process was doing, as a call of the driver. `arriving` opens the stream that was prepared. */
const calls = {
  materialise: `driver.materialise({ id: A, sizeBytes: size })`,
  grow: `driver.resize(A, 2 * size)`,
  shrink: `driver.resize(A, size / 2)`,
  receive: `driver.receive(B, arriving(), { snapshot: 'first', checksum })`,
  promote: `driver.promote(A, 'first', 'aside')`,
  remove: `driver.remove(A)`,
} as const;

export type CrashedCall = keyof typeof calls;

/** How a script loads a module that is named as from here. */
const load = (path: string) => `await import(${JSON.stringify(new URL(path, import.meta.url).href)})`;

const SCRIPT = `
  const [choice, root, A, B, size, file, checksum] = JSON.parse(process.argv[1]);
  const { createReadStream } = await import('node:fs');
  const { openVolumeDriver } = ${load('./index.js')};
  const { systemClock } = ${load('../../clock/index.js')};
  const arriving = () => createReadStream(file);
  const driver = await openVolumeDriver(choice, { clock: systemClock, root, reserveBytes: 0, keepRemovedMs: 0 });
  await driver.recover();
`;

/** A process is killed at each point; the next one repeats the call, or finds that nothing is left of it. */
export function describeCrashes(
  choice: 'btrfs' | 'directory',
  size: number,
  points: Readonly<Record<string, CrashedCall>>,
): void {
  let lab: Lab;
  let file: string;
  let checksum: string;
  beforeEach(async () => {
    lab = await openLab(choice);
    file = join(lab.root, '..', 'stream');
  });
  afterEach(() => lab.close());

  const read = async (id: string) => readFileSync(join(await lab.driver.mountPoint(id), 'file'), 'utf8');
  const prepare = async () => {
    for (const id of [A, B]) await lab.driver.materialise({ id, sizeBytes: size });
    const path = join(await lab.driver.mountPoint(A), 'file');
    writeFileSync(path, 'first', { flush: true });
    await lab.driver.snapshot(A, 'first');
    writeFileSync(path, 'now', { flush: true });
    const sent = await lab.driver.send(A, 'first');
    writeFileSync(file, await buffer(sent.stream));
    checksum = await sent.checksum;
  };
  const killAt = (point: string, call: CrashedCall) => {
    const { signal, stderr } = spawnSync(
      process.execPath,
      toScriptArguments(
        `${SCRIPT} await ${calls[call]};`,
        JSON.stringify([choice, lab.root, A, B, size, file, checksum]),
      ),
      { encoding: 'utf8', env: { ...process.env, MOORING_FAILPOINTS: `${point}=kill` } },
    );
    expect(signal, stderr).to.equal('SIGKILL');
  };
  const repeat: Readonly<Record<CrashedCall, () => Promise<unknown>>> = {
    materialise: () => lab.driver.materialise({ id: A, sizeBytes: size }),
    grow: () => lab.driver.resize(A, 2 * size),
    shrink: () => lab.driver.resize(A, size / 2),
    receive: () => lab.driver.receive(B, createReadStream(file), { snapshot: 'first', checksum }),
    promote: () => lab.driver.promote(A, 'first', 'aside'),
    remove: () => lab.driver.remove(A),
  };
  const isDone: Readonly<Record<CrashedCall, () => Promise<void>>> = {
    async materialise() {
      expect(await lab.driver.list()).to.deep.equal([{ id: A, sizeBytes: size }]);
      writeFileSync(join(await lab.driver.mountPoint(A), 'file'), 'it can be written');
    },
    async grow() {
      expect((await lab.driver.usage(A)).sizeBytes).to.equal(2 * size);
      const { blocks, bsize } = statfsSync(await lab.driver.mountPoint(A));
      if (choice === 'btrfs') expect(blocks * bsize, 'of the file system').to.equal(2 * size);
      expect(await read(A)).to.equal('now');
    },
    async shrink() {
      expect((await lab.driver.usage(A)).sizeBytes).to.equal(size / 2);
      expect(await read(A)).to.equal('now');
    },
    async receive() {
      await lab.driver.promote(B, 'first');
      expect(await read(B)).to.equal('first');
    },
    async promote() {
      expect(await read(A)).to.equal('first');
      await lab.driver.promote(A, 'aside');
      expect(await read(A)).to.equal('now');
    },
    async remove() {
      expect((await lab.driver.list()).map(({ id }) => id)).to.deep.equal([B]);
      expect(readdirSync(lab.root)).to.deep.equal([B]);
    },
  };

  for (const [point, call] of Object.entries(points)) {
    it(`completes what a process began that was killed at ${point}`, async () => {
      if (call !== 'materialise') await prepare();
      killAt(point, call);
      await lab.driver.recover();
      if (call === 'grow') await isDone.grow();
      const faults = (await lab.driver.list()).filter(({ fault }) => fault !== undefined);
      expect(faults).to.deep.equal([]);
      await repeat[call]();
      await isDone[call]();
      await repeat.remove();
    });
  }
}
