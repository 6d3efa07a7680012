import { readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';

import { btrfsBackend } from './btrfs-backend.js';
import { directoryBackend } from './directory-backend.js';
import { type VolumeDriverName, VolumeFault } from './driver.js';
import { LocalVolumes, type LocalVolumesEnv } from './local-volumes.js';
import { isInstalled, runTool } from './run-tool.js';
import { listKeptIds, readRecord } from './volume-record.js';

export type VolumeDriverChoice = VolumeDriverName | 'auto';

const backends = { btrfs: btrfsBackend, directory: directoryBackend } as const;

/** The driver of this machine: the one that was chosen, or else that of the volumes that are there, or the best that it can run. */
export async function openVolumeDriver(
  choice: VolumeDriverChoice,
  env: Omit<LocalVolumesEnv, 'backend'>,
): Promise<LocalVolumes> {
  const missing = choice === 'directory' ? undefined : await explainNoBtrfs();
  const name = chooseDriver(choice, { found: await listDrivers(env.root), missing });
  return new LocalVolumes({ ...env, backend: backends[name] });
}

interface DriverFacts {
  /** The drivers of the volumes that are there. */
  readonly found: readonly VolumeDriverName[];
  /** What the machine lacks for btrfs. */
  readonly missing: string | undefined;
}

/** A machine that cannot run btrfs now, and has volumes on it, must not begin others that would be lost when it can again. */
export function chooseDriver(choice: VolumeDriverChoice, { found, missing }: DriverFacts): VolumeDriverName {
  if (choice === 'btrfs' && missing !== undefined) {
    throw new VolumeFault('refused', `the volume driver btrfs cannot run here: ${missing}; or choose directory`);
  }
  if (choice !== 'auto') return choice;
  const best = missing === undefined ? 'btrfs' : 'directory';
  return found.includes('btrfs') ? 'btrfs' : (found[0] ?? best);
}

async function listDrivers(root: string): Promise<readonly VolumeDriverName[]> {
  const records = await Promise.all((await listKeptIds(root)).map(id => readRecord(join(root, id))));
  return records.flatMap(record => (record && Object.hasOwn(backends, record.driver) ? [record.driver] : []));
}

/** What is asked of a machine, to know whether volumes can be on btrfs. */
interface MachineFacts {
  readonly isRoot: boolean;
  /** As uname prints it. */
  readonly kernel: string;
  /** The file systems that the kernel has loaded, as /proc/filesystems lists them. */
  readFilesystems(): Promise<string>;
  loadBtrfs(): Promise<unknown>;
  hasProgram(program: string): Promise<boolean>;
}

const thisMachine: MachineFacts = {
  isRoot: process.getuid?.() === 0,
  kernel: release(),
  readFilesystems: () => readFile('/proc/filesystems', 'utf8').catch(() => ''),
  loadBtrfs: () => runTool('modprobe', 'btrfs').catch(() => undefined), // a kernel that has it built in needs no program for it
  hasProgram: isInstalled,
};

/** What this machine lacks for volumes on btrfs, with the remedy; undefined when it can have them. */
export async function explainNoBtrfs(machine = thisMachine): Promise<string | undefined> {
  if (!machine.isRoot) return 'the agent does not run as root; start it as root';
  const [major = 0, minor = 0] = machine.kernel.split('.').map(Number);
  if (major < 5 || (major === 5 && minor < 10)) return 'the kernel is older than 5.10; update it';
  const isLoaded = async () => /\tbtrfs$/m.test(await machine.readFilesystems());
  // After a reboot nothing may have needed the module yet: the images of volumes are attached by the agent alone.
  if (!(await isLoaded())) await machine.loadBtrfs();
  if (!(await isLoaded())) return 'the kernel does not have btrfs; install the module btrfs';
  for (const program of ['mkfs.btrfs', 'btrfs', 'losetup', 'fallocate', 'mount']) {
    if (await machine.hasProgram(program)) continue;
    return `${program} is not installed; install the packages btrfs-progs and util-linux`;
  }
  return undefined;
}
