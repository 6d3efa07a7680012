import { expect } from 'chai';

import { checkVolumeResize, type ResizeFacts } from './index.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const facts: ResizeFacts = {
  volume: {
    id: 'vol_01jx4t9mk3v8q2zr5w7y6n0rdy',
    name: 'data',
    class: 'ephemeral',
    type: 'volume',
    sizeBytes: 2 * GIB,
    accessMode: 'ReadWriteOnce',
    phase: 'Ready',
    usedBytes: GIB,
  },
  roomBytes: 4 * GIB,
};
const of = (change: Partial<ResizeFacts['volume']>): ResizeFacts => ({
  ...facts,
  volume: { ...facts.volume, ...change },
});

const small = (driver: string, capacityBytes: number) => of({ driver, capacityBytes, usedBytes: MIB });

describe('another size of a volume', () => {
  const cases: readonly (readonly [given: unknown, found: readonly string[], facts?: ResizeFacts])[] = [
    [{ sizeBytes: 3 * GIB }, []],
    [{ sizeBytes: 4 * GIB }, []],
    [{ sizeBytes: GIB }, []],
    [{ sizeBytes: 2 * GIB, name: 'data', class: 'ephemeral' }, []],
    [{ sizeBytes: 3 * GIB }, [], of({ phase: 'Resizing' })],
    [{ sizeBytes: 9 * GIB }, [], { ...facts, roomBytes: undefined }],
    [{ sizeBytes: 2 * GIB }, [], { ...facts, roomBytes: 0 }],
    [{}, ['field_invalid sizeBytes']],
    [{ sizeBytes: '3Gi' }, ['field_invalid sizeBytes']],
    [{ sizeBytes: 1 }, ['field_invalid sizeBytes']],
    [{ sizeBytes: 3 * GIB, class: 'replicated' }, ['field_immutable class']],
    [{ sizeBytes: 3 * GIB, name: 'other', type: 7 }, ['field_immutable name', 'field_immutable type']],
    [{ sizeBytes: 3 * GIB, replicas: 1 }, ['field_immutable replicas']],
    [{ sizeBytes: 3 * GIB, phase: 'Ready' }, ['field_unknown phase']],
    [{ sizeBytes: GIB - 1 }, ['volume_size_unavailable sizeBytes']],
    [{ sizeBytes: 4 * GIB + 1 }, ['volume_size_unavailable sizeBytes']],
    [{ sizeBytes: 200 * MIB }, ['volume_size_unavailable sizeBytes'], small('btrfs', GIB)],
    [{ sizeBytes: 255 * MIB }, ['volume_size_unavailable sizeBytes'], small('btrfs', GIB)],
    [{ sizeBytes: 256 * MIB }, [], small('btrfs', GIB)],
    [{ sizeBytes: 180 * MIB }, ['volume_size_unavailable sizeBytes'], small('btrfs', 200 * MIB)],
    [{ sizeBytes: 200 * MIB }, [], small('btrfs', 200 * MIB)],
    [{ sizeBytes: 2 * MIB }, [], small('btrfs', 128 * MIB)],
    [{ sizeBytes: 200 * MIB }, [], small('directory', GIB)],
    [{ sizeBytes: 3 * GIB }, ['volume_not_ready id'], of({ phase: 'Degraded' })],
    [{ sizeBytes: 3 * GIB }, ['volume_not_ready id'], of({ phase: 'Deleting' })],
    [{ sizeBytes: 3 * GIB }, ['volume_class_not_wired id'], of({ class: 'object', phase: 'Pending' })],
    [[], ['field_invalid body']],
  ];
  for (const [given, found, known = facts] of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify(given)} while ${known.volume.phase}`, () => {
      const checked = checkVolumeResize(given, known);
      expect(checked.ok ? [] : checked.rejections.map(({ code, field }) => `${code} ${field}`)).to.have.members(found);
    });
  }

  it('names the bound that was crossed', () => {
    const low = checkVolumeResize({ sizeBytes: GIB - 1 }, facts);
    const high = checkVolumeResize({ sizeBytes: 9 * GIB }, facts);
    expect(!low.ok && low.rejections[0]?.expected).to.contain('at least 1073741824 bytes (1GiB)');
    expect(!high.ok && high.rejections[0]?.expected).to.contain('at most 4294967296 bytes (4GiB)');
  });
});
