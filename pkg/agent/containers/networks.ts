import { type AssignedNetwork, NETWORK_UID_LABEL, type SeenNetwork } from '../../../crds/network/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { asError, Fault } from '../../fault/index.js';
import type { NodeIdentity } from '../../link/index.js';
import { again, done, type ReconcileResult, WorkQueue } from '../../reconcile/index.js';
import type { AgentEnv } from '../agent-env.js';
import type { ContainerView } from '../container-view.js';
import { type ContainerSpec, type ContainerStatus, EngineUnreachableFault, type NetworkSpec } from '../engine/index.js';
import { normaliseMessage } from '../normalise-message.js';

const ALL = 'networks';
const BACKOFF = { firstMs: 500, capMs: 30_000 };
/** How soon a network is tried again that the engine refuses, or that a container still holds. */
const AGAIN_MS = 5_000;

/** What a container joins in the place of its tenant's own network. */
export type JoinedNetworks = Required<Pick<ContainerSpec, 'networks' | 'isInternal'>>;

/** A replica joins a network that is not assigned to the node, or not yet. */
export class NetworkMissingFault extends Fault {
  readonly retriable = true;

  constructor(name: string) {
    super(`the network ${name} is not on this node yet`);
  }
}

export interface NodeNetworksParts {
  readonly node: NodeIdentity;
  readonly view: ContainerView;
  readonly report: (networks: readonly SeenNetwork[]) => Promise<void>;
}

/**
 * The networks of this node, as last received from the control plane: created whenever they are missing, and
 * removed when they are not wanted any more and no container holds them.
 */
export class NodeNetworks {
  readonly #env: AgentEnv;
  readonly #parts: NodeNetworksParts;
  /** Undefined until they are received: then nothing is removed. */
  #wanted: ReadonlyMap<string, AssignedNetwork> | undefined;
  /** What was last said of each, by uid. */
  readonly #said = new Map<string, string>();
  readonly queue: WorkQueue;

  constructor(env: AgentEnv, parts: NodeNetworksParts) {
    this.#env = env;
    this.#parts = parts;
    const { clock, random } = env;
    this.queue = new WorkQueue(() => this.#reconcile(), { clock, random, backoff: BACKOFF });
  }

  /** Takes what is wanted from now on. */
  assign(networks: readonly AssignedNetwork[], isFresh = false): void {
    if (isFresh) this.#said.clear();
    this.#wanted = new Map(networks.map(network => [network.name, network]));
    this.check();
  }

  /** Forgets what was assigned: until it is assigned again, nothing is created and nothing removed. */
  forget(): void {
    this.#wanted = undefined;
  }

  /** Compares what is wanted with what the engine has. */
  check(): void {
    if (this.#wanted) this.queue.add(ALL);
  }

  /** Makes sure that the networks of a replica exist and that its container, if it has one, is on them. */
  async prepare(
    { template: { networks: names = [] } }: Replica,
    container: ContainerStatus | undefined,
  ): Promise<JoinedNetworks | undefined> {
    if (names.length === 0) return undefined;
    const wanted = names.map(name => {
      const network = this.#wanted?.get(name);
      if (!network) throw new NetworkMissingFault(name);
      return network;
    });
    for (const network of wanted) await this.#env.engine.ensureNetwork(this.#toSpec(network));
    if (container?.lacksNetworks) await this.#env.engine.joinNetworks(container, container.lacksNetworks);
    return {
      networks: wanted.map(network => this.#toSpec(network).name),
      isInternal: wanted.every(({ internal }) => internal),
    };
  }

  async #reconcile(): Promise<ReconcileResult> {
    const { engine } = this.#env;
    const seen: SeenNetwork[] = [];
    for (const network of this.#wanted?.values() ?? []) seen.push(await this.#ensure(network));

    const isKept = (name: string) => !this.#wanted || this.#specs().some(spec => spec.name === name);
    const held = await engine.removeNetworks(this.#parts.node.id, isKept);
    const refused = await this.#rejoin(isKept);
    await this.#say(seen); // last: what is repaired does not wait for the control plane
    if (seen.some(({ state }) => state === 'failed')) return again(AGAIN_MS, 'the engine refuses a network');
    if (refused > 0) return again(AGAIN_MS, 'the engine refuses to attach a container');
    return held > 0 ? again(AGAIN_MS, 'a container holds a network that is not wanted') : done;
  }

  /** Attaches running containers to the networks that they lack. Answers how many the engine refuses to attach. */
  async #rejoin(isKept: (name: string) => boolean): Promise<number> {
    const { engine, log } = this.#env;
    const { view } = this.#parts;
    let refused = 0;
    for (const container of view.containers) {
      const { id, owner, state, lacksNetworks } = container;
      if (state !== 'running' || !lacksNetworks?.every(isKept)) continue;
      const of = { replica: owner.replica, container: id };
      try {
        await engine.joinNetworks(container, lacksNetworks);
        log.info('attached a container to its networks again', of);
      } catch (thrown) {
        if (thrown instanceof EngineUnreachableFault) throw thrown;
        refused++;
        log.warn('the engine refuses to attach a container, retrying', { ...of, error: asError(thrown) });
      }
      view.markChanged(owner.replica);
    }
    return refused;
  }

  async #ensure(network: AssignedNetwork): Promise<SeenNetwork> {
    const uid = network.labels[NETWORK_UID_LABEL] ?? '';
    try {
      await this.#env.engine.ensureNetwork(this.#toSpec(network));
      return { uid, state: 'ready' };
    } catch (thrown) {
      if (thrown instanceof EngineUnreachableFault) throw thrown;
      const error = asError(thrown);
      this.#env.log.warn('the engine refuses a network, retrying', { network: network.name, error });
      return { uid, state: 'failed', message: normaliseMessage(error.message) };
    }
  }

  async #say(seen: readonly SeenNetwork[]): Promise<void> {
    const news = seen.filter(each => this.#said.get(each.uid) !== JSON.stringify(each));
    if (news.length === 0) return;
    await this.#parts.report(news);
    for (const each of news) this.#said.set(each.uid, JSON.stringify(each));
  }

  #specs(): readonly NetworkSpec[] {
    return [...(this.#wanted?.values() ?? [])].map(network => this.#toSpec(network));
  }

  /** Tenant and uid are in the name: equal names of two tenants, or of two networks one after the other, never meet. */
  #toSpec({ name, labels, internal }: AssignedNetwork): NetworkSpec {
    const { tenant, id: nodeId } = this.#parts.node;
    return { name: `mooring-${tenant}-${labels[NETWORK_UID_LABEL]}`, network: name, tenant, nodeId, labels, internal };
  }
}
