import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';

import { request } from 'undici';

import type { RegistryLogin } from '../../pkg/registry/index.js';
import { ImageUploadFault } from './faults.js';
import { type TarEntry, packTar } from './tar.js';

const NAME = 'mooring/demo';
const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
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
  const { tag = '1', busybox = '/bin/busybox', login } = options;
  const program = await readFile(busybox).catch(() => undefined);
  if (!program) throw new ImageUploadFault(`${busybox} is missing: install busybox-static`);
  if (needsLibraries(program)) throw new ImageUploadFault(`${busybox} needs libraries: install busybox-static`);

  const layer = packTar(contents(options.isForeign ? markAsForeign(program) : program, tag, options.isBroken));
  const packed = gzipSync(layer);
  const config = Buffer.from(JSON.stringify(imageConfig(digest(layer), tag)));
  const upload = new Upload(registry, login);
  for (const blob of [packed, config]) await upload.addBlob(blob);
  await upload.addManifest(tag, manifest(config, packed));
  return `${registry}/${NAME}:${tag}`;
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

function imageConfig(layerDigest: string, tag: string): unknown {
  return {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config: { Cmd: ['/bin/serve'], Env: ['PATH=/bin', `VERSION=${tag}`], ExposedPorts: { '8080/tcp': {} } },
    rootfs: { type: 'layers', diff_ids: [layerDigest] },
    history: [{ created: '1970-01-01T00:00:00Z', created_by: 'mooring' }],
  };
}

function manifest(config: Buffer, layer: Buffer): Buffer {
  const described = (mediaType: string, blob: Buffer) => ({ mediaType, size: blob.length, digest: digest(blob) });
  return Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: described('application/vnd.docker.container.image.v1+json', config),
      layers: [described('application/vnd.docker.image.rootfs.diff.tar.gzip', layer)],
    }),
  );
}

/** Puts the parts of an image into a registry. */
class Upload {
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(registry: string, login: RegistryLogin | undefined) {
    this.#origin = `http://${registry}`;
    const text = login && Buffer.from(`${login.username}:${login.password}`).toString('base64');
    this.#headers = text === undefined ? {} : { authorization: `Basic ${text}` };
  }

  async addBlob(blob: Buffer): Promise<void> {
    const known = await this.#ask('HEAD', `/v2/${NAME}/blobs/${digest(blob)}`);
    if (known.status === 200) return;

    const begun = await this.#ask('POST', `/v2/${NAME}/blobs/uploads/`);
    if (begun.status !== 202) throw new ImageUploadFault(`the registry answered ${begun.status} to an upload`);
    const place = new URL(begun.location, this.#origin);
    place.searchParams.set('digest', digest(blob));
    const stored = await this.#ask('PUT', `${place.pathname}${place.search}`, blob, 'application/octet-stream');
    if (stored.status !== 201) throw new ImageUploadFault(`the registry answered ${stored.status} to a layer`);
  }

  async addManifest(tag: string, bytes: Buffer): Promise<void> {
    const { status } = await this.#ask('PUT', `/v2/${NAME}/manifests/${tag}`, bytes, MANIFEST);
    if (status !== 201) throw new ImageUploadFault(`the registry answered ${status} to a manifest`);
  }

  async #ask(method: 'HEAD' | 'POST' | 'PUT', path: string, body?: Buffer, type?: string) {
    try {
      const headers = { ...this.#headers, ...(type !== undefined && { 'content-type': type }) };
      const answer = await request(new URL(path, this.#origin), { method, headers, body: body ?? null });
      await answer.body.dump();
      return { status: answer.statusCode, location: String(answer.headers['location']) };
    } catch (thrown) {
      throw new ImageUploadFault('the registry could not be reached', { cause: thrown });
    }
  }
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

function digest(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
