import { ApiLab } from '../../api/api-lab.testing.js';
import {
  KubernetesBridge,
  type BridgeOptions,
  type ClientPackage,
  MirrorSide,
  type MirroredObject,
} from '../../bridge/index.js';
import { keys } from '../../crds/keys/index.js';
import { askCluster, type ClusterAccess } from '../../dev/kubernetes/index.js';
import { Client } from '../../pkg/client/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { silentLogger } from '../../pkg/log/index.js';
import { create, value } from '../../pkg/store/index.js';
import type { BridgeCluster } from './bridge-cluster.js';

/** Called before and after every write of a bridge, and before it reads an object. It dies, or cannot read, by a throw. */
export type BridgeWitness = (when: 'before' | 'after', method: string, path: string) => void;

/** A namespace of a cluster, an API server of Mooring, and bridges between them. */
export class BridgeLab {
  readonly cluster: BridgeCluster;
  readonly namespace: string;
  readonly mooring: ApiLab;
  token = '';
  #package!: ClientPackage;
  #clients: Client[] = [];
  readonly #running = new Map<KubernetesBridge, { readonly stop: AbortController; readonly ended: Promise<void> }>();

  constructor(cluster: BridgeCluster, namespace: string) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.mooring = new ApiLab({ log: silentLogger });
  }

  async start(): Promise<this> {
    this.#package = await import('@kubernetes/client-node');
    await Promise.all([this.cluster.open(this.namespace), this.mooring.start()]);
    this.token = await this.mooring.tenantToken(this.mooring.a);
    return this;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map(bridge => this.stopBridge(bridge)));
    for (const client of this.#clients) client.close();
    await this.mooring.stop();
  }

  /** Starts a bridge. */
  startBridge(options: Partial<BridgeOptions> = {}, watcher?: BridgeWitness): KubernetesBridge {
    const api = ({ url: server, token }: ClusterAccess) => {
      const config = new this.#package.KubeConfig();
      config.loadFromClusterAndUser({ name: 'lab', server, skipTLSVerify: true }, { name: 'lab', token });
      return watcher ? new WatchedApi(config, this.#package, watcher) : new MirrorSide(config, this.#package);
    };
    const bridge = new KubernetesBridge({
      cluster: api(this.cluster.bridge(this.namespace)),
      mooring: api({ url: `${this.mooring.server.url}/k8s`, token: this.token }),
      connect: tenant => this.#connect(tenant),
      namespaces: [{ namespace: this.namespace, tenant: this.mooring.a }],
      secrets: [],
      resyncSeconds: 1,
      lease: { namespace: this.namespace, holder: systemRandom.uuid(), seconds: 3 },
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      ...options,
    });
    const stop = new AbortController();
    this.#running.set(bridge, { stop, ended: bridge.run(stop.signal) });
    return bridge;
  }

  /** Resolves when it has ended, whoever has stopped it. */
  async stopBridge(bridge: KubernetesBridge): Promise<void> {
    const { stop, ended } = this.#running.get(bridge)!;
    stop.abort();
    await ended;
  }

  #connect(tenant: string): Client {
    const client = new Client({ server: this.mooring.server.url, token: this.token, tenant });
    this.#clients.push(client);
    return client;
  }

  /** Writes into the cluster as its users do, over whatever the bridge has written meanwhile. */
  async declare(plural: string, name: string, spec: object, metadata: object = {}): Promise<void> {
    const refused = await this.tryDeclare(plural, name, spec, metadata);
    if (refused !== undefined) throw new Error(`${plural}/${name} was refused: ${refused}`);
  }

  /** As `declare`. Answers what the cluster refuses it with. */
  async tryDeclare(plural: string, name: string, spec: object, metadata: object = {}): Promise<string | undefined> {
    const kind = plural.slice(0, 1).toUpperCase() + plural.slice(1, -1);
    return this.#put(this.#path(plural), name, before => ({
      apiVersion: 'mooring.io/v1',
      kind,
      metadata: { ...before?.metadata, name, ...metadata },
      spec,
    }));
  }

  async #put(
    path: string,
    name: string,
    change: (before: MirroredObject | undefined) => object,
  ): Promise<string | undefined> {
    for (;;) {
      const before = await this.#read<MirroredObject>(`${path}/${name}`);
      const sent = change(before);
      const [method, to] = before ? (['PUT', `${path}/${name}`] as const) : (['POST', path] as const);
      const { status, body } = await askCluster<{ readonly message: string }>(this.cluster.users, method, to, sent);
      if (status < 300) return undefined;
      if (status !== 409) return body.message;
    }
  }

  async #read<T>(path: string): Promise<T | undefined> {
    const { status, body } = await askCluster<T>(this.cluster.users, 'GET', path);
    if (status !== 200 && status !== 404) throw new Error(`GET ${path} was answered ${status}`);
    return status === 404 ? undefined : body;
  }

  /** Deletes in the cluster as its users do. */
  async delete(plural: string, name: string): Promise<void> {
    await askCluster(this.cluster.users, 'DELETE', `${this.#path(plural)}/${name}`);
  }

  find(plural: string, name: string): Promise<MirroredObject | undefined> {
    return this.#read(`${this.#path(plural)}/${name}`);
  }

  /** Writes a Secret of the cluster. */
  async declareSecret(name: string, values: Readonly<Record<string, string>>): Promise<void> {
    const change = (before: MirroredObject | undefined) => ({ metadata: { name }, ...before, stringData: values });
    const refused = await this.#put(`/api/v1/namespaces/${this.namespace}/secrets`, name, change);
    if (refused !== undefined) throw new Error(refused);
  }

  /** The events of the cluster. */
  async events() {
    const path = `/api/v1/namespaces/${this.namespace}/events`;
    const list = await this.#read<{
      readonly items: readonly { readonly reason: string; readonly involvedObject: { readonly uid: string } }[];
    }>(path);
    return list!.items;
  }

  /** Which secrets were copied. */
  async notes(): Promise<string | undefined> {
    const path = `/api/v1/namespaces/${this.namespace}/configmaps/mooring-bridge-secrets`;
    const found = await this.#read<object>(path);
    return found && JSON.stringify(found);
  }

  /** As if the time of the lease had passed: a bridge that has died does not renew it. */
  async expireLease(): Promise<void> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${this.namespace}/leases`;
    const { status } = await askCluster(this.cluster.users, 'DELETE', path);
    if (status !== 200) throw new Error(`DELETE ${path} was answered ${status}`);
  }

  /** Who has a lease of the namespace. */
  async listHolders(): Promise<readonly string[]> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${this.namespace}/leases`;
    const list = await this.#read<{
      readonly items: readonly { readonly spec: { readonly holderIdentity?: string } }[];
    }>(path);
    return list!.items.flatMap(({ spec }) => spec.holderIdentity || []);
  }

  #path(plural: string): string {
    return `/apis/mooring.io/v1/namespaces/${this.namespace}/${plural}`;
  }

  /** A condition of an object of the cluster, as `<status> <reason>`. */
  async condition(plural: string, name: string, type: string): Promise<string | undefined> {
    const { status } = (await this.find(plural, name)) ?? {};
    const conditions = (status?.['conditions'] ?? []) as readonly Record<string, string>[];
    const found = conditions.find(each => each['type'] === type);
    return found && `${found['status']} ${found['reason']}`;
  }

  ask(method: string, path: string, body?: object) {
    return this.mooring.ask(method, path, { token: this.token, ...(body && { body }) });
  }

  /** Does what the loops and the agent do: a volume is there. */
  async finishVolume(name: string): Promise<void> {
    const { store, a } = this.mooring;
    const { body } = await this.ask('GET', `/api/v1/dvm/volumes/${name}`);
    const id = String(body['id']);
    const since = new Date(0).toISOString();
    const ready = { id, phase: 'Ready', reason: 'volume_ready', message: '', copies: [], since };
    await create(store, keys.volumeStatus(a, id), ready);
  }

  /** Does what the loops do: removes the records of what was deleted. */
  async finishDeletions(range: 'deployments' | 'jobs' | 'volumes'): Promise<void> {
    const { store } = this.mooring;
    const { entries } = await store.list(`${range}/`);
    for (const entry of entries) {
      const { metadata } = value<{ readonly metadata: { readonly deletedAt?: string } }>(entry);
      if (metadata.deletedAt === undefined) continue;
      await store.commit({
        guards: [{ key: entry.key, at: entry.revision }],
        puts: [],
        deletes: [entry.key],
      });
    }
  }
}

/** Lets a watcher see what the bridge does, so that it can die around it. */
class WatchedApi extends MirrorSide {
  readonly #watcher: BridgeWitness;

  constructor(config: ConstructorParameters<typeof MirrorSide>[0], client: ClientPackage, watcher: BridgeWitness) {
    super(config, client);
    this.#watcher = watcher;
  }

  override async find<T>(path: string, name: string) {
    this.#watcher('before', 'GET', path);
    return super.find<T>(path, name);
  }

  override async request<T>(method: string, path: string, body?: object) {
    if (method !== 'GET') this.#watcher('before', method, path);
    const answer = await super.request<T>(method, path, body);
    if (method !== 'GET') this.#watcher('after', method, path);
    return answer;
  }
}
