import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { explainNoNamespaces } from './network.js';

/** What a machine must have for a fault. */
export type FaultNeeds = 'isolation' | 'mounts' | 'snapshots' | 'tracing';

/** What this machine lacks for a fault; undefined when nothing. */
export function findObstacle({ needs }: { readonly needs?: FaultNeeds }): string | undefined {
  if (needs === 'isolation') return explainNoNamespaces();
  if (needs === 'tracing') return explainNoTracing();
  if (needs === 'mounts') return explainNoMounts();
  return needs === 'snapshots' ? explainNoSnapshots() : undefined;
}

/** Why no file system can be mounted here; undefined when one can. */
export function explainNoMounts(): string | undefined {
  const probe = mkdtempSync(join(tmpdir(), 'mooring-mount-'));
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', probe]).status === 0;
  if (isMounted) execFileSync('umount', [probe]);
  rmSync(probe, { recursive: true });
  return isMounted ? undefined : 'no file system can be mounted: run as root, with CAP_SYS_ADMIN';
}

/** Why the disk of a member cannot be spoilt here; undefined when it can. */
export function explainNoTracing(): string | undefined {
  return spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0
    ? undefined
    : 'strace is not installed, or may not trace (Debian: strace)';
}

/** Why snapshots cannot be saved and restored here; undefined when they can. */
export function explainNoSnapshots(): string | undefined {
  return spawnSync('etcdctl', ['version']).status === 0 ? undefined : 'etcdctl is not installed (Debian: etcd-client)';
}

/** Runs etcdctl, which says nothing of its own when it succeeds. */
export function etcdctl(...argv: readonly string[]): void {
  execFileSync('etcdctl', argv, { stdio: 'pipe', timeout: 30_000, env: { ...process.env, ETCDCTL_API: '3' } });
}
