import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { clone } from '../pkg/version/index.js';
import { listRuntimePackages } from './runtime-packages.js';

/** Where the product is, in every package that is not npm's. */
export const INSTALLED_IN = 'usr/lib/mooring';

/** Lays out below a folder what is installed: the files of the npm package with its dependencies, and `/usr/bin/moor`. */
export function stageInstallation(root: string): void {
  const folder = join(root, INSTALLED_IN);
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  const packed = mkdtempSync(join(tmpdir(), 'mooring-pack-'));
  try {
    const quiet = { cwd: packed, stdio: ['ignore', 'ignore', 'inherit'] as ['ignore', 'ignore', 'inherit'] };
    execFileSync('npm', ['pack', clone, '--ignore-scripts', '--loglevel=error', '--no-update-notifier'], quiet);
    const tarballs = readdirSync(packed).map(name => join(packed, name));
    for (const tarball of tarballs)
      execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1', '--no-same-owner']);
  } finally {
    rmSync(packed, { recursive: true, force: true });
  }
  for (const { path } of listRuntimePackages()) {
    const isOwn = (source: string) => !source.slice(join(clone, path).length).startsWith('/node_modules');
    cpSync(join(clone, path), join(folder, path), { recursive: true, filter: isOwn });
  }
  symlinkSync('../lib/mooring/moor', join(root, 'usr/bin/moor'));
  setModes(root);
}

/** Folders and programs may be entered and run by everybody, everything else is read; as Debian asks for. */
export function setModes(root: string): void {
  chmodSync(root, 0o755);
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    else if (entry.isFile()) chmodSync(path, path === join(root, INSTALLED_IN, 'moor') ? 0o755 : 0o644);
  }
}
