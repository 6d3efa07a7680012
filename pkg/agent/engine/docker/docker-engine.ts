import { type Clock, systemClock } from '../../../clock/index.js';
import { readDocuments } from '../../../ndjson/index.js';
import {
  claimName,
  type ContainerSpec,
  type ContainerStatus,
  type Engine,
  type EngineEvent,
  type EngineFacts,
  EngineRefusedFault,
  ImageMissingFault,
  ImagePullFault,
  type LogChunk,
  NameConflictFault,
} from '../engine.js';
import { DockerApi } from './docker-api.js';
import { buildContainerBody, type ContainerInspection, NODE_LABEL, readContainerStatus } from './docker-container.js';
import { followEvents, readLogFrames } from './docker-streams.js';
import { TenantNetworks } from './tenant-networks.js';

const SLOW_CALL_MS = 120_000;
const PULL_SILENCE_MS = 300_000;

export interface DockerEngineOptions {
  /** `unix:///var/run/docker.sock` or `tcp://host:port`. */
  readonly host: string;
  readonly clock?: Clock;
}

/** Docker Engine, or Podman's compatible service, over its API. */
export class DockerEngine implements Engine {
  readonly #api: DockerApi;
  readonly #clock: Clock;
  readonly #networks: TenantNetworks;

  constructor({ host, clock = systemClock }: DockerEngineOptions) {
    this.#api = new DockerApi(host);
    this.#clock = clock;
    this.#networks = new TenantNetworks(this.#api);
  }

  async facts(): Promise<EngineFacts> {
    const { engine, api } = await this.#api.version();
    const { body } = await this.#api.call<{ NCPU: number; MemTotal: number }>('GET', '/info');
    return { name: 'docker', version: engine, apiVersion: api, cpu: body.NCPU * 1000, memory: body.MemTotal };
  }

  async list(nodeId: string): Promise<readonly ContainerStatus[]> {
    const filters = JSON.stringify({ label: [`${NODE_LABEL}=${nodeId}`] });
    const query = { all: 'true', filters };
    const { body } = await this.#api.call<readonly { Id: string }[]>('GET', '/containers/json', { query });
    const seen = await Promise.all(body.map(({ Id }) => this.inspect(Id)));
    return seen.filter(container => container !== undefined);
  }

  async inspect(id: string): Promise<ContainerStatus | undefined> {
    const { status, body } = await this.#inspect(id);
    return status === 404 ? undefined : readContainerStatus(body);
  }

  async hasImage(image: string): Promise<boolean> {
    const { status } = await this.#api.call('GET', `/images/${encodeURIComponent(image)}/json`, { expected: [404] });
    return status !== 404;
  }

  async pull(image: string): Promise<void> {
    if (await this.hasImage(image)) return;
    try {
      const stream = await this.#api.open('POST', '/images/create', {
        query: { fromImage: image },
        answerWithinMs: SLOW_CALL_MS,
        silenceMs: PULL_SILENCE_MS,
      });
      // The engine responds 200 before it contacts the registry: errors come in the stream.
      for await (const progress of readDocuments(stream)) {
        const { error } = progress as { readonly error?: string };
        if (error !== undefined) throw new ImagePullFault(error);
      }
    } catch (thrown) {
      throw thrown instanceof EngineRefusedFault ? new ImagePullFault(thrown.message, { cause: thrown }) : thrown;
    }
  }

  async create(order: ContainerSpec): Promise<string> {
    await this.#networks.ensure(order.network, order.owner.tenant);
    const { status, body } = await this.#order(order);
    if (status === 409) return this.#settleName(order);
    if (status !== 404) return body.Id;

    this.#networks.forget();
    if (await this.hasImage(order.image)) throw new EngineRefusedFault(404, body.message);
    throw new ImageMissingFault(order.image);
  }

  async start(id: string): Promise<void> {
    try {
      await this.#api.call('POST', `/containers/${id}/start`, { expected: [304], answerWithinMs: SLOW_CALL_MS });
    } catch (thrown) {
      this.#networks.forget(); // its network may have been deleted
      throw thrown;
    }
  }

  async stop(id: string, graceSeconds: number): Promise<void> {
    await this.#api.call('POST', `/containers/${id}/stop`, {
      query: { t: String(graceSeconds) },
      expected: [304, 404],
      answerWithinMs: SLOW_CALL_MS + graceSeconds * 1000,
    });
  }

  async remove(id: string): Promise<void> {
    const query = { force: 'true', v: 'true' };
    const expected = [404, 409]; // 409: it is being removed already
    const { status } = await this.#api.call('DELETE', `/containers/${id}`, { query, expected });
    if (status === 409 && (await this.inspect(id))) throw new EngineRefusedFault(409, 'the container is being removed');
  }

  events(nodeId: string, seen: (event: EngineEvent | 'everything') => void, signal: AbortSignal): Promise<void> {
    return followEvents({ api: this.#api, clock: this.#clock, nodeId }, seen, signal);
  }

  async *logs(
    id: string,
    { follow, tail }: { follow: boolean; tail: number },
    signal: AbortSignal,
  ): AsyncGenerator<LogChunk> {
    const query = { stdout: 'true', stderr: 'true', follow: String(follow), tail: String(tail) };
    try {
      const stream = await this.#api.open('GET', `/containers/${id}/logs`, { query, silenceMs: 0, signal });
      yield* readLogFrames(stream);
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  close(): Promise<void> {
    return this.#api.close();
  }

  async #order(order: ContainerSpec): Promise<{ status: number; body: { Id: string; message: string } }> {
    try {
      return await this.#api.call('POST', '/containers/create', {
        query: { name: order.name },
        body: buildContainerBody(order),
        expected: [404, 409],
        answerWithinMs: SLOW_CALL_MS,
      });
    } catch (thrown) {
      // The engine quotes the variable that it refuses.
      const hasValue = thrown instanceof EngineRefusedFault && quotes(thrown.message, order.secrets);
      throw hasValue
        ? new EngineRefusedFault(thrown.status, 'the engine refused an environment variable that comes from a secret')
        : thrown;
    }
  }

  #inspect(idOrName: string): Promise<{ status: number; body: ContainerInspection }> {
    return this.#api.call<ContainerInspection>('GET', `/containers/${idOrName}/json`, { expected: [404] });
  }

  async #settleName(order: ContainerSpec): Promise<string> {
    const { status, body } = await this.#inspect(order.name);
    if (status === 404) return this.create(order); // it was removed meanwhile

    const holder = readContainerStatus(body);
    switch (claimName(holder?.owner, order.owner)) {
      case 'adopt':
        return body.Id;
      case 'replace':
        await this.remove(body.Id);
        return this.create(order);
      case 'conflict':
        throw new NameConflictFault(order.name);
    }
  }
}

/** Whether a text contains one of the secret values. */
function quotes(text: string, secrets: ContainerSpec['secrets']): boolean {
  return [...(secrets?.values() ?? [])].some(secret => text.includes(secret.reveal()));
}
