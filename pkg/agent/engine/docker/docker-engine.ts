import { type Clock, systemClock } from '../../../clock/index.js';
import {
  claimName,
  type ContainerSpec,
  type ContainerStatus,
  type Engine,
  type EngineCondition,
  type EngineFacts,
  EngineRefusedFault,
  type ImageLogin,
  ImageMissingFault,
  InternalNetworkFault,
  type LogEntry,
  type ContainerLogOptions,
  NameConflictFault,
  type NetworkSpec,
  type OnEngineEvent,
} from '../engine.js';
import type { RegistryLogins } from '../../../registry/index.js';
import type { OnPullProgress } from '../container-parts.js';
import { DockerApi } from './docker-api.js';
import { LAST_LINES, readEnd } from '../log-entries.js';
import { NODE_LABEL, readOwner, TENANT_LABEL } from '../ownership-labels.js';
import {
  buildContainerBody,
  type ContainerInspection,
  readContainerStatus,
  readSecretValues,
} from './docker-container.js';
import { runInContainer } from './docker-exec.js';
import { isolateBridge } from './internal-bridges.js';
import { readStats } from './docker-stats.js';
import { BRIDGE_PREFIX, LinkLocalBarrier } from './link-local.js';
import { type Bridge, DockerNetworks, isNetworkRefused } from './docker-networks.js';
import { quotesSecret, type RedactedOutput, redactOutput } from '../redact.js';
import { toPullFault } from './pull-failure.js';
import { followPull } from './pull-progress.js';
import { followEvents, readLogEntries } from './docker-streams.js';

const PING_MS = 5_000;
const SLOW_CALL_MS = 120_000;
const PULL_SILENCE_MS = 300_000;
const LOGS_WITHIN_MS = 10_000;

export interface DockerEngineOptions {
  /** `unix:///var/run/docker.sock` or `tcp://host:port`. */
  readonly host: string;
  /** The address of this machine that host ports listen at. Default: every one. */
  readonly hostPortAddress?: string;
  /** Logins for registries that require one. Default: none. */
  readonly logins?: RegistryLogins;
  readonly clock?: Clock;
}

/** Docker Engine, or Podman's compatible service, over its API. */
export class DockerEngine implements Engine {
  readonly #api: DockerApi;
  readonly #clock: Clock;
  readonly #networks: DockerNetworks;
  readonly #hostPortAddress: string;
  readonly #logins: RegistryLogins | undefined;
  readonly #isLocal: boolean;
  #barrier: LinkLocalBarrier | undefined;

  constructor({ host, hostPortAddress = '', logins, clock = systemClock }: DockerEngineOptions) {
    this.#hostPortAddress = hostPortAddress;
    this.#logins = logins;
    this.#api = new DockerApi(host);
    this.#clock = clock;
    this.#networks = new DockerNetworks(this.#api, bridge => this.#guardBridge(bridge));
    this.#isLocal = host.startsWith('unix://');
  }

  async ping(): Promise<void> {
    await this.#api.ping(PING_MS);
  }

  async facts(): Promise<EngineFacts> {
    const { engine, api } = await this.#api.version();
    const { body } = await this.#api.call<EngineInfo>('GET', '/info');
    // The bridges of a rootless engine are not in the machine's own network, where the rules would stand.
    this.#barrier ??= new LinkLocalBarrier(this.#isLocal && !body.SecurityOptions?.includes('name=rootless'));
    await this.#barrier.block(BRIDGE_PREFIX);
    return { name: 'docker', version: engine, apiVersion: api, cpu: body.NCPU * 1000, memory: body.MemTotal };
  }

  conditions(): readonly EngineCondition[] {
    return this.#barrier?.conditions ?? [];
  }

  async list(nodeId: string): Promise<readonly ContainerStatus[]> {
    const filters = JSON.stringify({ label: [`${NODE_LABEL}=${nodeId}`] });
    const query = { all: 'true', filters };
    const { body } = await this.#api.call<readonly { Id: string }[]>('GET', '/containers/json', { query });
    const containers = await Promise.all(body.map(({ Id }) => this.inspect(Id)));
    return containers.filter(container => container !== undefined);
  }

  async listNodeIds(tenant: string): Promise<readonly string[]> {
    const query = { all: 'true', filters: JSON.stringify({ label: [`${TENANT_LABEL}=${tenant}`] }) };
    const { body } = await this.#api.call<readonly { Labels?: Readonly<Record<string, string>> }[]>(
      'GET',
      '/containers/json',
      { query },
    );
    const owners = body.flatMap(({ Labels }) => readOwner(Labels)?.nodeId ?? []);
    return [...new Set([...owners, ...(await this.#networks.listNodeIds(tenant))])];
  }

  async measureDisk(nodeId: string): Promise<ReadonlyMap<string, number>> {
    const query = { all: 'true', size: 'true', filters: JSON.stringify({ label: [`${NODE_LABEL}=${nodeId}`] }) };
    const { body } = await this.#api.call<readonly { readonly Id: string; readonly SizeRw?: number }[]>(
      'GET',
      '/containers/json',
      { query, answerWithinMs: SLOW_CALL_MS },
    );
    return new Map(body.map(({ Id, SizeRw = 0 }) => [Id, SizeRw]));
  }

  async inspect(id: string): Promise<ContainerStatus | undefined> {
    const { status, body } = await this.#inspect(id);
    return status === 404 ? undefined : readContainerStatus(body);
  }

  readonly readUsage = (id: string) => readStats(this.#api, id);

  async findImage(image: string): Promise<string | undefined> {
    const path = `/images/${encodeURIComponent(image)}/json`;
    const { status, body } = await this.#api.call<{ readonly Id: string }>('GET', path, { expected: [404] });
    return status === 404 ? undefined : body.Id;
  }

  /** The login for the registry of an image, as the engine wants it: the one that was given, or that of the machine. */
  #authorize(image: string, given: ImageLogin | undefined): Readonly<Record<string, string>> {
    const [host = ''] = image.split('/');
    const login = given ? { username: given.username, password: given.password.reveal() } : this.#logins?.find(host);
    if (!login) return {};
    const auth = Buffer.from(JSON.stringify({ ...login, serveraddress: host })).toString('base64');
    // The alphabet for URLs, but padded.
    return { 'x-registry-auth': auth.replaceAll('+', '-').replaceAll('/', '_') };
  }

  async pull(image: string, login?: ImageLogin, onProgress?: OnPullProgress): Promise<void> {
    try {
      const stream = await this.#api.open('POST', '/images/create', {
        query: { fromImage: image },
        headers: this.#authorize(image, login),
        answerWithinMs: SLOW_CALL_MS,
        silenceMs: PULL_SILENCE_MS,
      });
      // The engine responds 200 before it contacts the registry: errors come in the stream.
      await followPull(stream, onProgress);
    } catch (thrown) {
      throw thrown instanceof EngineRefusedFault ? toPullFault(thrown.message) : thrown;
    }
  }

  async pruneImages(): Promise<void> {
    const filters = JSON.stringify({ dangling: ['false'] });
    await this.#api.call('POST', '/images/prune', { query: { filters }, answerWithinMs: SLOW_CALL_MS });
  }

  async create(spec: ContainerSpec): Promise<string> {
    if (!spec.networks?.length) await this.#networks.ensureTenant(spec.network, spec.owner.tenant);
    const { status, body } = await this.#requestContainer(spec);
    if (status === 409) return this.#settleName(spec);
    if (status !== 404) return this.#networks.joinFurther(body.Id, spec);

    this.#networks.forget();
    if ((await this.findImage(spec.image)) !== undefined) throw new EngineRefusedFault(404, body.message);
    throw new ImageMissingFault(spec.image);
  }

  async start(id: string): Promise<void> {
    const start = () =>
      this.#api.call('POST', `/containers/${id}/start`, { expected: [304], answerWithinMs: SLOW_CALL_MS });
    try {
      await start();
    } catch (thrown) {
      this.#networks.forget(); // its network may have been deleted, or another agent may have created it again
      if (!isNetworkRefused(thrown)) throw thrown;
      await this.#networks.reattach((await this.#inspect(id)).body, start);
    }
  }

  async stop(id: string, graceSeconds: number): Promise<void> {
    await this.#api.call('POST', `/containers/${id}/stop`, {
      query: { t: String(graceSeconds) },
      expected: [304, 404],
      answerWithinMs: SLOW_CALL_MS + graceSeconds * 1000,
    });
  }

  exec(id: string, command: readonly string[], withinMs: number): Promise<number | undefined> {
    return runInContainer(this.#api, id, command, withinMs);
  }

  async remove(id: string): Promise<void> {
    const query = { force: 'true', v: 'true' };
    const expected = [404, 409]; // 409: it is being removed already
    const { status } = await this.#api.call('DELETE', `/containers/${id}`, { query, expected });
    if (status === 409 && (await this.inspect(id))) throw new EngineRefusedFault(409, 'the container is being removed');
  }

  events(nodeId: string, onEvent: OnEngineEvent, signal: AbortSignal): Promise<void> {
    return followEvents({ api: this.#api, clock: this.#clock, nodeId }, onEvent, signal);
  }

  async readLastLines(id: string): Promise<RedactedOutput> {
    const { status, body } = await this.#inspect(id);
    if (status === 404) return {};
    const { lines, isCut } = await readEnd(this.logs(id, { tail: LAST_LINES }, AbortSignal.timeout(LOGS_WITHIN_MS)));
    const secrets = readSecretValues(body);
    // One that runs may be in the middle of writing a value.
    return redactOutput(lines, secrets, { start: isCut, end: body.State.Status !== 'exited' && secrets?.length !== 0 });
  }

  async *logs(id: string, { tail, since }: ContainerLogOptions, signal: AbortSignal): AsyncGenerator<LogEntry> {
    const window = { tail: tail === undefined ? 'all' : String(tail), ...(since !== undefined && { since }) };
    const query = { stdout: 'true', stderr: 'true', timestamps: 'true', ...window };
    const limits = { answerWithinMs: LOGS_WITHIN_MS, silenceMs: LOGS_WITHIN_MS };
    try {
      yield* readLogEntries(await this.#api.open('GET', `/containers/${id}/logs`, { query, ...limits, signal }));
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }

  close(): Promise<void> {
    return this.#api.close();
  }

  async #requestContainer(spec: ContainerSpec): Promise<{ status: number; body: { Id: string; message: string } }> {
    try {
      return await this.#api.call('POST', '/containers/create', {
        query: { name: spec.name },
        body: buildContainerBody(spec, this.#hostPortAddress),
        expected: [404, 409],
        answerWithinMs: SLOW_CALL_MS,
      });
    } catch (thrown) {
      // The engine quotes the variable that it refuses.
      const values = [...(spec.secrets?.values() ?? [])].map(secret => secret.reveal());
      throw thrown instanceof EngineRefusedFault && quotesSecret(thrown.message, values)
        ? new EngineRefusedFault(thrown.status, 'the engine refused an environment variable that comes from a secret')
        : thrown;
    }
  }

  ensureNetwork(spec: NetworkSpec): Promise<void> {
    return this.#networks.ensure(spec);
  }

  removeNetworks(nodeId: string, isKept: (name: string) => boolean): Promise<number> {
    return this.#networks.removeOthers(nodeId, isKept);
  }

  joinNetworks({ id, owner }: ContainerStatus, networks: readonly string[]): Promise<void> {
    return this.#networks.join(id, networks, owner.deployment);
  }

  async #guardBridge({ name, internal }: Bridge): Promise<void> {
    if (!this.#barrier) await this.facts();
    if (!name.startsWith(BRIDGE_PREFIX)) await this.#barrier?.block(name);
    if (internal && !(this.#barrier?.isLocal && (await isolateBridge(name)))) throw new InternalNetworkFault();
  }

  #inspect(idOrName: string): Promise<{ status: number; body: ContainerInspection }> {
    return this.#api.call<ContainerInspection>('GET', `/containers/${idOrName}/json`, { expected: [404] });
  }

  async #settleName(spec: ContainerSpec): Promise<string> {
    const { status, body } = await this.#inspect(spec.name);
    if (status === 404) return this.create(spec); // it was removed meanwhile

    const holder = readContainerStatus(body);
    switch (claimName(holder?.owner, spec.owner)) {
      case 'adopt':
        return this.#networks.joinFurther(body.Id, spec); // its creator may have ended before that
      case 'replace':
        await this.remove(body.Id);
        return this.create(spec);
      case 'conflict':
        throw new NameConflictFault(spec.name);
    }
  }
}

/** The fields that we read of `GET /info`. */
interface EngineInfo {
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly SecurityOptions?: readonly string[] | null;
}
