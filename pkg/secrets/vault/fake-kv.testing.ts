/** An answer of the fake server. */
export interface FakeAnswer {
  readonly status: number;
  readonly body?: unknown;
}

interface FakeVersion {
  data: unknown;
  destroyed: boolean;
  deletion_time: string;
}

interface FakeSecret {
  readonly versions: Map<number, FakeVersion>;
  last: number;
  custom: Record<string, string> | null;
  readonly created_time: string;
}

const nothing: FakeAnswer = { status: 404, body: { errors: [] } };
const done: FakeAnswer = { status: 204 };

/**
 * The secrets engine KV version 2, as far as we use it, answering as a real server was seen to answer: null custom
 * metadata where there is none, a 404 with metadata for a version that is gone, a 400 for a check-and-set that fails, a
 * 204 for destroying what never was.
 */
export class FakeKv {
  readonly #secrets = new Map<string, FakeSecret>();
  #created = 0;

  data(method: string, path: string, version: number, body: unknown): FakeAnswer {
    return method === 'GET' ? this.#read(path, version) : this.#write(path, body as { options?: { cas?: number } });
  }

  metadata(method: string, path: string, body: unknown): FakeAnswer {
    if (method === 'DELETE') {
      this.#secrets.delete(path);
      return done;
    }
    if (method === 'POST') {
      this.#secret(path).custom = (body as { custom_metadata: Record<string, string> }).custom_metadata;
      return done;
    }
    const secret = this.#secrets.get(path);
    if (!secret) return nothing;
    const versions = Object.fromEntries(
      [...secret.versions].map(([n, { destroyed, deletion_time }]) => [n, { destroyed, deletion_time }]),
    );
    const { last: current_version, custom: custom_metadata, created_time } = secret;
    return { status: 200, body: { data: { current_version, custom_metadata, created_time, versions } } };
  }

  destroy(path: string, { versions }: { versions: readonly number[] }): FakeAnswer {
    for (const number of versions) {
      const version = this.#secrets.get(path)?.versions.get(number);
      if (version) Object.assign(version, { data: null, destroyed: true });
    }
    return done;
  }

  list(prefix: string): FakeAnswer {
    const names = [...this.#secrets.keys()]
      .filter(path => path.startsWith(prefix))
      .map(path => path.slice(prefix.length));
    return names.length === 0 ? nothing : { status: 200, body: { data: { keys: names } } };
  }

  /** Deletes softly, as an operator does with `kv delete`. */
  softDelete(path: string, number: number): void {
    Object.assign(this.#secret(path).versions.get(number)!, { deletion_time: '2020-01-01T00:00:00Z' });
  }

  #read(path: string, asked: number): FakeAnswer {
    const secret = this.#secrets.get(path);
    const number = asked || secret?.last || 0;
    const version = secret?.versions.get(number);
    if (!secret || !version) return nothing;
    const { data, ...rest } = version;
    const metadata = { ...rest, version: number, custom_metadata: secret.custom };
    const gone = rest.destroyed || rest.deletion_time !== '';
    return { status: gone ? 404 : 200, body: { data: { data: gone ? null : data, metadata } } };
  }

  #write(path: string, body: { options?: { cas?: number }; data?: unknown }): FakeAnswer {
    const last = this.#secrets.get(path)?.last ?? 0;
    if (body.options?.cas !== last) return { status: 400, body: { errors: ['check-and-set parameter did not match'] } };
    const secret = this.#secret(path);
    secret.versions.set(++secret.last, { data: body.data, destroyed: false, deletion_time: '' });
    const { last: version, custom: custom_metadata } = secret;
    return { status: 200, body: { data: { version, custom_metadata, destroyed: false, deletion_time: '' } } };
  }

  #secret(path: string): FakeSecret {
    const created_time = new Date(++this.#created).toISOString();
    const secret = this.#secrets.get(path) ?? { versions: new Map(), last: 0, custom: null, created_time };
    this.#secrets.set(path, secret);
    return secret;
  }
}
