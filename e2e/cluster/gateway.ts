import { Agent, request } from 'node:https';

import { type CertificateFiles, readCertificates } from '../../pkg/certificates/index.js';

/** What a member says of itself. */
export interface MemberStatus {
  readonly memberId: string;
  readonly clusterId: string;
  readonly leaderId: string;
  readonly revision: number;
  readonly raftIndex: number;
  readonly databaseBytes: number;
  readonly version: string;
}

/** One change as etcd itself has stored it. */
export interface RawEvent {
  readonly revision: number;
  readonly key: string;
  readonly created: number;
  /** Undefined when the key was deleted. */
  readonly bytes: string | undefined;
}

interface RawKeyValue {
  readonly key: string;
  readonly value?: string;
  readonly mod_revision?: string;
  readonly create_revision?: string;
}

const encoded = (text: string) => Buffer.from(text).toString('base64');
const decoded = (text = '') => Buffer.from(text, 'base64').toString();

/** How long a history is read that has no known end. */
const IDLE_MS = 1_500;

/** The first key that no longer begins with `prefix`, which ends in `/`. */
const computeEnd = (prefix: string) => `${prefix.slice(0, -1)}0`;

/**
 * etcd's own JSON gateway, for the operator's side of a test and for the record of what is really stored: none of our
 * code stands between, so that a defect of it cannot hide itself.
 */
export class Gateway {
  readonly #agent: Agent;

  constructor(files: CertificateFiles) {
    this.#agent = new Agent({ ...readCertificates(files), keepAlive: true, maxSockets: 64 });
  }

  close(): void {
    this.#agent.destroy();
  }

  async isHealthy(endpoint: string, withinMs = 1_000): Promise<boolean> {
    try {
      const { health } = (await this.#exchange(endpoint, '/health', undefined, withinMs)) as {
        readonly health?: string;
      };
      return health === 'true';
    } catch {
      return false;
    }
  }

  async status(endpoint: string, withinMs = 2_000): Promise<MemberStatus> {
    const answer = (await this.call(endpoint, 'maintenance/status', {}, withinMs)) as {
      readonly header: Readonly<Record<string, string>>;
      readonly [field: string]: unknown;
    };
    return {
      memberId: String(answer.header['member_id']),
      clusterId: String(answer.header['cluster_id']),
      leaderId: typeof answer['leader'] === 'string' ? answer['leader'] : '0',
      revision: Number(answer.header['revision'] ?? 0),
      raftIndex: Number(answer['raftIndex'] ?? 0),
      databaseBytes: Number(answer['dbSize'] ?? 0),
      version: String(answer['version']),
    };
  }

  /** Puts a key without any guard, and gives the revision. */
  async put(endpoint: string, key: string, value: string, withinMs = 5_000): Promise<number> {
    const body = { key: encoded(key), value: encoded(value) };
    const { header } = (await this.call(endpoint, 'kv/put', body, withinMs)) as {
      readonly header: { readonly revision: string };
    };
    return Number(header.revision);
  }

  /**
   * Every change of the keys below `prefix` after one revision, up to and with that of a key which is put for it. Where
   * nothing can be put, because the quota is reached, it ends when nothing more comes.
   */
  async events(endpoint: string, prefix: string, after: number, withinMs = 30_000): Promise<readonly RawEvent[]> {
    const until = await this.put(endpoint, `${prefix}marks/end`, '{}').catch(() => Infinity);
    const body = {
      create_request: {
        key: encoded(prefix),
        range_end: encoded(computeEnd(prefix)),
        start_revision: String(after + 1),
      },
    };
    const events: RawEvent[] = [];
    await this.#stream(endpoint, '/v3/watch', body, until === Infinity ? IDLE_MS : withinMs, line => {
      const { result, error } = JSON.parse(line) as {
        readonly result?: {
          readonly canceled?: boolean;
          readonly events?: readonly { readonly type?: string; readonly kv: RawKeyValue }[];
        };
        readonly error?: unknown;
      };
      if (error || result?.canceled) throw new Error(`the history after revision ${after} cannot be read: ${line}`);
      for (const { type, kv } of result?.events ?? []) {
        events.push({
          revision: Number(kv.mod_revision),
          key: decoded(kv.key).slice(prefix.length),
          created: Number(kv.create_revision ?? 0),
          bytes: type === 'DELETE' ? undefined : decoded(kv.value),
        });
      }
      return (events.at(-1)?.revision ?? 0) >= until;
    }).catch((thrown: unknown) => {
      if (until !== Infinity || !(thrown instanceof Error && thrown.name === 'AbortError')) throw thrown;
    });
    return events;
  }

  /** Calls a method of the gateway, and fails for any answer but 200. */
  call(endpoint: string, method: string, body: unknown, withinMs = 10_000): Promise<unknown> {
    return this.#exchange(endpoint, `/v3/${method}`, body, withinMs);
  }

  async #exchange(endpoint: string, path: string, body: unknown, withinMs: number): Promise<unknown> {
    let text = '';
    await this.#stream(endpoint, path, body, withinMs, line => {
      text += line;
      return false;
    });
    return JSON.parse(text) as unknown;
  }

  /** Gives every line of the answer to `hear`, until that is true or the answer ends. */
  #stream(
    endpoint: string,
    path: string,
    body: unknown,
    withinMs: number,
    hear: (line: string) => boolean,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(withinMs);
      const method = body === undefined ? 'GET' : 'POST';
      const call = request(new URL(path, endpoint), { agent: this.#agent, method, signal }, answer => {
        let rest = '';
        answer.setEncoding('utf8');
        answer.on('data', (text: string) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop()!;
          try {
            if (lines.some(hear)) finish();
          } catch (thrown) {
            fail(thrown);
          }
        });
        answer.on('error', fail);
        answer.on('end', () => {
          if (answer.statusCode !== 200) return fail(new Error(`${path} answered ${answer.statusCode}: ${rest}`));
          if (rest !== '') hear(rest);
          return resolve();
        });
      });
      const finish = () => {
        resolve();
        call.destroy();
      };
      const fail = (thrown: unknown) => {
        reject(thrown instanceof Error ? thrown : new Error(String(thrown)));
        call.destroy();
      };
      call.on('error', fail);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
