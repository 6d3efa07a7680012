import { readFile } from 'node:fs/promises';
import { release } from 'node:os';

import { btrfsBackend } from './btrfs-backend.js';
import { directoryBackend } from './directory-backend.js';
import { type VolumeDriver, type VolumeDriverName, VolumeFault } from './driver.js';
import { LocalVolumes, type LocalVolumesEnv } from './local-volumes.js';
import { runTool } from './run-tool.js';

export type VolumeDriverChoice = VolumeDriverName | 'auto';

/** The driver of this machine: the one that was chosen, or the best that it can run. */
export async function openVolumeDriver(
  choice: VolumeDriverChoice,
  env: Omit<LocalVolumesEnv, 'backend'>,
): Promise<VolumeDriver> {
  const missing = choice === 'directory' ? undefined : await explainNoBtrfs();
  if (choice === 'btrfs' && missing !== undefined) {
    throw new VolumeFault('refused', `the volume driver btrfs cannot run here: ${missing}; or choose directory`);
  }
  const backend = choice === 'directory' || missing !== undefined ? directoryBackend : btrfsBackend;
  return new LocalVolumes({ ...env, backend });
}

/** What this machine lacks for volumes on btrfs, with the remedy; undefined when it can have them. */
export async function explainNoBtrfs(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'the agent does not run as root; start it as root';
  const [major = 0, minor = 0] = release().split('.').map(Number);
  if (major < 5 || (major === 5 && minor < 10)) return 'the kernel is older than 5.10; update it';
  const known = await readFile('/proc/filesystems', 'utf8').catch(() => '');
  if (!/\tbtrfs$/m.test(known)) return 'the kernel does not have btrfs; load the module btrfs';
  for (const program of ['mkfs.btrfs', 'btrfs', 'losetup', 'fallocate', 'mount']) {
    const isThere = await runTool(program, '--version').then(
      () => true,
      () => false,
    );
    if (!isThere) return `${program} is not installed; install the packages btrfs-progs and util-linux`;
  }
  return undefined;
}
