import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { readRecord, writeRecord } from './volume-record.js';

describe('the record of a volume', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-record-'));
  const path = join(folder, 'volume.json');
  const driver = 'btrfs' as const;
  after(() => rmSync(folder, { recursive: true }));

  it('is what was written last, however often', async () => {
    for (let sizeBytes = 1; sizeBytes <= 50; sizeBytes++) {
      await writeRecord(folder, { driver, sizeBytes: sizeBytes + 100 });
      await writeRecord(folder, { driver, sizeBytes });
      expect(await readRecord(folder)).to.deep.equal({ driver, sizeBytes });
      expect(await readRecord(folder)).to.deep.equal({ driver, sizeBytes });
    }
  });

  it('is what another program has put there, and none while it is away', async () => {
    await writeRecord(folder, { driver, sizeBytes: 1 });
    await readRecord(folder);
    renameSync(path, `${path}.away`);
    expect(await readRecord(folder)).to.equal(undefined);
    writeFileSync(path, JSON.stringify({ driver, sizeBytes: 2 }));
    expect(await readRecord(folder)).to.deep.equal({ driver, sizeBytes: 2 });
    rmSync(path);
    renameSync(`${path}.away`, path);
    expect(await readRecord(folder)).to.deep.equal({ driver, sizeBytes: 1 });
  });

  it('is none where it cannot be read', async () => {
    writeFileSync(path, '{"driver":');
    expect(await readRecord(folder)).to.equal(undefined);
    expect(await readRecord(folder)).to.equal(undefined);
  });
});
