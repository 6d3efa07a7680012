import { createHash } from 'node:crypto';
import { constants, gzipSync } from 'node:zlib';

import { request } from 'undici';

import type { RegistryLogin } from '../../pkg/registry/index.js';
import { ImageUploadFault } from './faults.js';
import { packTar, type TarEntry } from './tar.js';

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';

/** An image of one layer, for machines like this one. */
interface PushedImage {
  readonly name: string;
  readonly tag: string;
  readonly entries: readonly TarEntry[];
  /** How containers of it are run, as the engine writes it. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Where the registry requires one. */
  readonly login?: RegistryLogin;
}

/** Puts an image into a registry and answers its reference. The same input gives the same image. */
export async function pushImage(registry: string, image: PushedImage): Promise<string> {
  const { name, tag, entries, login } = image;
  const layer = packTar(entries);
  const packed = gzipSync(layer, { level: constants.Z_BEST_SPEED }); // it goes to a registry on this machine
  const config = Buffer.from(JSON.stringify(imageConfig(digest(layer), image)));
  const upload = new Upload(registry, name, login);
  for (const blob of [packed, config]) await upload.addBlob(blob);
  await upload.addManifest(tag, manifest(config, packed));
  return `${registry}/${name}:${tag}`;
}

function imageConfig(layerDigest: string, { config }: PushedImage): unknown {
  return {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config,
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
  readonly #name: string;
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(registry: string, name: string, login: RegistryLogin | undefined) {
    this.#name = name;
    this.#origin = `http://${registry}`;
    const text = login && Buffer.from(`${login.username}:${login.password}`).toString('base64');
    this.#headers = text === undefined ? {} : { authorization: `Basic ${text}` };
  }

  async addBlob(blob: Buffer): Promise<void> {
    const known = await this.#ask('HEAD', `/v2/${this.#name}/blobs/${digest(blob)}`);
    if (known.status === 200) return;

    const begun = await this.#ask('POST', `/v2/${this.#name}/blobs/uploads/`);
    if (begun.status !== 202) throw new ImageUploadFault(`the registry answered ${begun.status} to an upload`);
    const place = new URL(begun.location, this.#origin);
    place.searchParams.set('digest', digest(blob));
    const stored = await this.#ask('PUT', `${place.pathname}${place.search}`, blob, 'application/octet-stream');
    if (stored.status !== 201) throw new ImageUploadFault(`the registry answered ${stored.status} to a layer`);
  }

  async addManifest(tag: string, bytes: Buffer): Promise<void> {
    const { status } = await this.#ask('PUT', `/v2/${this.#name}/manifests/${tag}`, bytes, MANIFEST);
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

function digest(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
