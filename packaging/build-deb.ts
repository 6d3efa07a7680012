/**
 * `make deb`: a Debian package of what is compiled, with systemd units. `node build-deb.js [FOLDER]` leaves it in a folder, by
 * default `.cache`, and prints its path.
 *
 * @module
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';

import { clone, readProductVersion } from '../pkg/version/index.js';
import { setModes, stageInstallation } from './stage.js';

const SCRIPTS = ['postinst', 'prerm', 'postrm'];
const SETTINGS = ['server.yaml', 'agent.env'];

const [target = join(clone, '.cache')] = process.argv.slice(2);
const version = readProductVersion();
const root = mkdtempSync(join(tmpdir(), 'mooring-deb-'));
try {
  stageInstallation(root);
  stageDebianFiles();
  const file = join(target, `mooring_${version}_all.deb`);
  mkdirSync(target, { recursive: true });
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '-z1', '--build', root, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: readCommitTime() },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  console.log(file);
} finally {
  rmSync(root, { recursive: true, force: true });
}

function stageDebianFiles(): void {
  const source = join(clone, 'packaging');
  const doc = join(root, 'usr/share/doc/mooring');
  for (const folder of [
    doc,
    join(root, 'etc/mooring'),
    join(root, 'usr/lib/systemd/system'),
    join(root, 'usr/lib/modules-load.d'),
    join(root, 'usr/share/man/man1'),
  ])
    mkdirSync(folder, { recursive: true });
  cpSync(join(source, 'systemd'), join(root, 'usr/lib/systemd/system'), { recursive: true });
  for (const name of SETTINGS) copyFileSync(join(source, 'debian', name), join(root, 'etc/mooring', name));
  // The unit of the agent may load no module.
  writeFileSync(join(root, 'usr/lib/modules-load.d/mooring.conf'), 'btrfs\nloop\n');
  copyFileSync(join(source, 'debian/copyright'), join(doc, 'copyright'));
  copyFileSync(join(source, 'README.md'), join(doc, 'README.md'));
  const compress = (from: string, to: string) => writeFileSync(to, gzipSync(readFileSync(from), { level: 9 }));
  compress(join(clone, 'CHANGELOG.md'), join(doc, 'changelog.gz'));
  compress(join(source, 'moor.1'), join(root, 'usr/share/man/man1/moor.1.gz'));
  setModes(root);

  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile());
  const paths = files.map(entry => relative(root, join(entry.parentPath, entry.name))).sort();
  const kibibytes = Math.ceil(paths.reduce((sum, path) => sum + statSync(join(root, path)).size, 0) / 1024);
  const control = join(root, 'DEBIAN');
  mkdirSync(control);
  writeFileSync(join(control, 'control'), renderControl(kibibytes));
  writeFileSync(join(control, 'conffiles'), SETTINGS.map(name => `/etc/mooring/${name}\n`).join(''));
  writeFileSync(join(control, 'md5sums'), paths.map(path => `${hash(join(root, path))}  ${path}\n`).join(''));
  for (const name of SCRIPTS) {
    copyFileSync(join(source, 'debian', name), join(control, name));
    chmodSync(join(control, name), 0o755);
  }
}

function renderControl(kibibytes: number): string {
  return `Package: mooring
Version: ${version}
Architecture: all
Section: admin
Priority: optional
Maintainer: The Mooring authors <mooring@localhost>
Installed-Size: ${kibibytes}
Depends: nodejs (>= 20.19), passwd
Recommends: etcd-server
Suggests: docker.io, btrfs-progs, iptables
Description: multi-tenant control plane for containers
 Tenants enrol their own machines and declare deployments; Mooring places them,
 keeps them running, and says exactly why when it cannot. This package has the
 API server, the controllers, the agent and the command line, with systemd
 units. Nothing is started by installing it.
`;
}

function hash(path: string): string {
  return createHash('md5').update(readFileSync(path)).digest('hex');
}

/** The same commit makes the same package. */
function readCommitTime(): string {
  try {
    return execFileSync('git', ['-C', clone, 'log', '-1', '--format=%ct'], { encoding: 'utf8' }).trim();
  } catch {
    return String(Math.floor(statSync(join(clone, 'package.json')).mtimeMs / 1000)); // an archive without history
  }
}
