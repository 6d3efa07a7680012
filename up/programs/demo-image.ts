import { readFile } from 'node:fs/promises';

import type { RegistryLogin } from '../../pkg/registry/index.js';
import { ImageUploadFault } from './faults.js';
import { pushImage } from './push-image.js';
import type { TarEntry } from './tar.js';

const NAME = 'mooring/demo';
const TOOLS = ['sh', 'httpd', 'wget', 'nc', 'sleep', 'echo', 'cat', 'env', 'hostname', 'ls', 'date', 'true', 'false'];

/** Process 1 of a container ignores signals that it has no handler for: the trap makes it stop at once. */
const SERVE = `#!/bin/sh
trap 'exit 0' TERM INT
echo "demo $VERSION listens on port \${PORT:-8080} as $(hostname)"
httpd -f -v -p "\${PORT:-8080}" -h /www &
wait
`;

export interface DemoImageOptions {
  /** Default `1`. The page that the image serves names it. */
  readonly tag?: string;
  /** Where the registry requires one. */
  readonly login?: RegistryLogin;
  /** A statically linked busybox: Debian's package `busybox-static`. */
  readonly busybox?: string;
  /** Its programs are marked as being for another architecture: no machine runs them. */
  readonly isForeign?: boolean;
  /** Has no page: it starts, and answers every request with 404. */
  readonly isBroken?: boolean;
}

/**
 * Puts a tiny web server into a registry and answers its image reference.
 *
 * It serves a page on port 8080 (or `PORT`) and has what a health check needs: `wget -q -O /dev/null http://127.0.0.1:8080/`.
 * It is built here from the machine's own busybox, so nothing is downloaded; the same input gives the same image.
 */
export async function buildDemoImage(registry: string, options: DemoImageOptions = {}): Promise<string> {
  const { tag = '1', busybox, login } = options;
  const program = await readBusybox(busybox);
  return pushImage(registry, {
    name: NAME,
    tag,
    entries: contents(options.isForeign ? markAsForeign(program) : program, tag, options.isBroken),
    config: { Cmd: ['/bin/serve'], Env: ['PATH=/bin', `VERSION=${tag}`], ExposedPorts: { '8080/tcp': {} } },
    ...(login && { login }),
  });
}

/** The machine's own busybox, which needs nothing else of an image. */
export async function readBusybox(path = '/bin/busybox'): Promise<Buffer> {
  const program = await readFile(path).catch(() => undefined);
  if (!program) throw new ImageUploadFault(`${path} is missing: install busybox-static`);
  if (needsLibraries(program)) throw new ImageUploadFault(`${path} needs libraries: install busybox-static`);
  return program;
}

function contents(busybox: Buffer, tag: string, isBroken = false): TarEntry[] {
  const page = `<!doctype html><title>Mooring</title><h1>Moored.</h1><p>This is demo ${tag}.</p>\n`;
  return [
    { path: 'bin/', mode: 0o755, folder: true },
    { path: 'bin/busybox', mode: 0o755, bytes: busybox },
    ...TOOLS.map(tool => ({ path: `bin/${tool}`, linkTo: 'busybox' })),
    { path: 'bin/serve', mode: 0o755, bytes: Buffer.from(SERVE) },
    { path: 'tmp/', mode: 0o1777, folder: true },
    { path: 'www/', mode: 0o755, folder: true },
    ...(isBroken ? [] : [{ path: 'www/index.html', mode: 0o644, bytes: Buffer.from(page) }]),
  ];
}

/** Whether a 64-bit ELF program names an interpreter, that is, the dynamic linker. */
function needsLibraries(program: Buffer): boolean {
  const INTERPRETER = 3;
  const [offset, size, count] = [
    Number(program.readBigUInt64LE(0x20)),
    program.readUInt16LE(0x36),
    program.readUInt16LE(0x38),
  ];
  return Array.from({ length: count }, (_, part) => program.readUInt32LE(offset + part * size)).includes(INTERPRETER);
}

/** The program with another machine in its ELF header. */
function markAsForeign(program: Buffer): Buffer {
  const MACHINE = 0x12;
  const marked = Buffer.from(program);
  marked.writeUInt16LE(0xffff, MACHINE);
  return marked;
}
