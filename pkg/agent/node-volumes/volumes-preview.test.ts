import { expect } from 'chai';

import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { seededRandom } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { silentLogger } from '../../log/index.js';
import type { AgentEnv } from '../agent-env.js';
import { createMemoryDisk } from '../disk.js';
import { NodeVolumes } from './node-volumes.js';
import { MemoryDriver } from '../replication/memory-driver.testing.js';
import { VolumeFault } from '../volumes/index.js';

const AT = new Date(0).toISOString();

describe('what would become of the volumes of a node', () => {
  const id = (digit: number) => `vol_${String(digit).repeat(26)}`;
  const discard = { name: 'divergent-1', at: AT };
  const record = (epoch: number, role: 'primary' | 'replica', about: object = {}) =>
    JSON.stringify({ ...makeTerm(epoch), role, ...about });
  const assign = (digit: number, about: object) => ({
    id: id(digit),
    name: 'data',
    type: 'volume' as const,
    sizeBytes: 2 ** 20,
    ...about,
  });
  const replicate = (epoch: number, role: 'primary' | 'replica', about: object = {}) => ({
    replication: { ...makeTerm(epoch), role, peers: [], intervalSeconds: 5, fenceAfterSeconds: 30, ...about },
  });
  const open = (files: Map<string, string>, list: () => Promise<never>) =>
    new NodeVolumes(
      {
        clock: new ManualClock(),
        random: seededRandom(1),
        log: silentLogger,
        disk: createMemoryDisk(files),
        volumes: { ...new MemoryDriver().driver, list },
      } as unknown as AgentEnv,
      async () => undefined,
      async () => undefined,
    );

  it('is told by kind, and nothing is changed', async () => {
    const files = new Map([
      [`replication-${id(2)}.json`, record(3, 'primary')],
      [`replication-${id(3)}.json`, record(1, 'primary')],
      [`replication-${id(4)}.json`, record(2, 'replica', { divergent: [{ ...discard, epoch: 1 }] })],
      [`replication-${id(6)}.json`, record(2, 'replica')],
      [`replication-${id(9)}.json`, record(2, 'primary', { generationId: 'f'.repeat(16) })],
    ]);
    const before = new Map(files);
    const listed = [0, 1, 2, 3, 4, 5, 6, 7, 9].map(digit => ({ id: id(digit) }));
    const volumes = open(files, async () => listed as never);
    const told = await volumes.compare([
      assign(1, { isDeleted: true, removedIn: 0 }),
      assign(2, { isDeleted: true, removedIn: 1 }),
      assign(3, replicate(2, 'replica')),
      assign(4, replicate(2, 'replica', { discard: [discard] })),
      assign(6, { isDeleted: true, removedIn: 2 }),
      assign(7, {}),
      assign(8, { isDeleted: true, removedIn: 0 }),
      assign(0, { isDeleted: true }),
      assign(9, replicate(2, 'replica')),
    ]);
    expect(told).to.deep.equal({
      removed: [id(1), id(6)],
      demoted: [id(3), id(9)],
      discarded: [id(4)],
      newer: [id(2), id(0)],
      unknown: [id(5)],
    });
    expect(files).to.deep.equal(before);
  });

  it('is not told where the disk cannot be looked at', async () => {
    const volumes = open(new Map(), () => Promise.reject(new VolumeFault('failed', 'EIO')));
    expect(await volumes.compare([]).catch(() => 'unknown')).to.equal('unknown');
  });
});
