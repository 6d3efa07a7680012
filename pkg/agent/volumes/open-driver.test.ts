import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { systemClock } from '../../clock/index.js';
import { A, B } from './driver-lab.testing.js';
import { chooseDriver, explainNoBtrfs, openVolumeDriver } from './open-driver.js';

describe('the driver of a machine', () => {
  const lacks = 'the kernel does not have btrfs';
  const rows = [
    { choice: 'auto', found: [], missing: undefined, driver: 'btrfs' },
    { choice: 'auto', found: [], missing: lacks, driver: 'directory' },
    { choice: 'auto', found: ['btrfs'], missing: lacks, driver: 'btrfs' },
    { choice: 'auto', found: ['directory', 'btrfs'], missing: lacks, driver: 'btrfs' },
    { choice: 'auto', found: ['directory'], missing: undefined, driver: 'directory' },
    { choice: 'directory', found: ['btrfs'], missing: undefined, driver: 'directory' },
    { choice: 'btrfs', found: ['directory'], missing: undefined, driver: 'btrfs' },
  ] as const;
  for (const { choice, driver, ...facts } of rows) {
    it(`is ${driver} for ${choice}, with ${facts.found.join(' and ') || 'no'} volumes${facts.missing ? ', without btrfs' : ''}`, () => {
      expect(chooseDriver(choice, facts)).to.equal(driver);
    });
  }

  it('is refused when it was asked for and cannot run', () => {
    expect(() => chooseDriver('btrfs', { found: [], missing: lacks })).to.throw(lacks);
  });

  it('is that of the volumes that are there, whatever else is', async () => {
    const root = mkdtempSync(join(tmpdir(), 'mooring-volumes-'));
    try {
      for (const [name, record] of Object.entries({
        [A]: '{"driver":"directory","sizeBytes":1048576}',
        [B]: '{"driver":"constructor","sizeBytes":1048576}',
        other: '{"driver":"btrfs","sizeBytes":1048576}',
      })) {
        mkdirSync(join(root, name));
        writeFileSync(join(root, name, 'volume.json'), record);
      }
      const driver = await openVolumeDriver('auto', { clock: systemClock, root, reserveBytes: 0, keepRemovedMs: 0 });
      expect(driver.name).to.equal('directory');
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('what a machine lacks for btrfs', () => {
  const able = {
    isRoot: true,
    kernel: '6.1.0-18-amd64',
    readFilesystems: async () => 'nodev\tproc\n\tbtrfs\n',
    loadBtrfs: async () => undefined,
    hasProgram: async () => true,
  };

  it('is nothing where all is there, and otherwise the first that is not', async () => {
    expect(await explainNoBtrfs(able)).to.equal(undefined);
    expect(await explainNoBtrfs({ ...able, isRoot: false })).to.contain('root');
    expect(await explainNoBtrfs({ ...able, kernel: '5.4.0' })).to.contain('5.10');
    expect(await explainNoBtrfs({ ...able, readFilesystems: async () => '\text4\n' })).to.contain('module');
    const hasProgram = async (program: string) => program !== 'losetup';
    expect(await explainNoBtrfs({ ...able, hasProgram })).to.contain('losetup');
  });

  it('is not a module that is only not loaded yet, as after a reboot', async () => {
    let known = '\text4\n';
    const loadBtrfs = async () => {
      known += '\tbtrfs\n';
    };
    expect(await explainNoBtrfs({ ...able, readFilesystems: async () => known, loadBtrfs })).to.equal(undefined);
  });
});
