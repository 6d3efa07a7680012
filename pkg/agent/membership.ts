import { backoffMs, type Clock, sleep } from '../clock/index.js';
import { asError } from '../fault/index.js';
import {
  type EnrolReply,
  formatEnrolmentText,
  LinkRefusedFault,
  type NodeIdentity,
  formatRenewalText,
} from '../link/index.js';
import { type AgentEnv, type AgentOptions, readCapacity } from './agent-env.js';
import { type NodeKey, loadNodeKey } from './node-key.js';

const FILE = 'node.json';
const RENEW_AT = 0.67;
const RETRY = { firstMs: 500, capMs: 30_000 };
const FORMER_KEPT = 8;

/** What is kept of an enrolment: who the node is, and the token that it speaks with. */
interface StoredEnrolment extends EnrolReply {
  /** Wall time in milliseconds at which the token was received. */
  readonly receivedAt: number;
  /** Ids of the nodes that this machine was before. */
  readonly former?: readonly string[];
}

/**
 * The agent's standing with the control plane.
 *
 * A node enrols once with a join token. From then on its key is enough: the token of the day is renewed by signature
 * at two thirds of its life, or at once when the control plane does not know it any more. A node that is forgotten for
 * good, because its owner has let go of it, enrols anew with the join token it was given, and is another node then.
 */
export class Membership {
  readonly #env: AgentEnv;
  readonly #options: AgentOptions;
  readonly #clock: Clock;
  #key: NodeKey | undefined;
  #kept: StoredEnrolment | undefined;
  #renewal: Promise<void> | undefined;
  #left = new AbortController();

  constructor(env: AgentEnv, options: AgentOptions) {
    this.#env = env;
    this.#options = options;
    this.#clock = env.clock;
  }

  /** Aborted when the machine is no longer the node that `join` last answered, but another. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Ids of the nodes that this machine was before: what was made for them is nobody's. */
  get formerNodeIds(): readonly string[] {
    return this.#kept?.former ?? [];
  }

  /** Becomes a node, or remembers being one. Tries until it succeeds or is aborted; undefined when aborted. */
  async join(signal: AbortSignal): Promise<NodeIdentity | undefined> {
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        this.#kept ??= await this.#recall();
        if (!this.#kept) await this.#enrol();
        const { id, name, tenant } = this.#kept!.node;
        this.#left = new AbortController();
        return { id, name, tenant };
      } catch (thrown) {
        const error = asError(thrown);
        const code = error instanceof LinkRefusedFault ? error.code : error.name;
        this.#env.log.warn('could not enrol, trying again', { code, attempt, error });
        await sleep(this.#clock, backoffMs(attempt, RETRY, this.#env.random), signal);
      }
    }
    return undefined;
  }

  /** Makes a call, and once more with a fresh token when the one presented, or the node itself, is not known. */
  async authorised<T>(call: () => Promise<T>): Promise<T> {
    const { left } = this;
    try {
      return await call();
    } catch (thrown) {
      if (!isUnknown(thrown)) throw thrown;
      await this.#refresh();
      if (left.aborted) throw thrown; // the call was the former node's
      return call();
    }
  }

  /** Renews the token in good time, until aborted. */
  async keepTokenFresh(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const wait = failures > 0 ? backoffMs(failures, RETRY, this.#env.random) : this.#renewInMs();
      await sleep(this.#clock, wait, signal);
      if (signal.aborted) return;
      try {
        await this.#refresh();
        failures = 0;
      } catch (thrown) {
        failures++;
        this.#env.log.warn('could not renew the node token', { attempt: failures, error: asError(thrown) });
      }
    }
  }

  #renewInMs(): number {
    if (!this.#kept) return RETRY.capMs;
    const { receivedAt, expiresAt } = this.#kept;
    return Math.max(0, receivedAt + (Date.parse(expiresAt) - receivedAt) * RENEW_AT - this.#clock.now());
  }

  /** However many calls find the token refused at once, it is renewed once. */
  #refresh(): Promise<void> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renew(): Promise<void> {
    const key = await this.#ownKey();
    const at = this.#clock.now();
    const nodeId = this.#kept?.node.id ?? '';
    try {
      await this.#keep(await this.#env.link.renew({ nodeId, at, proof: key.sign(formatRenewalText(nodeId, at)) }));
    } catch (thrown) {
      const forgotten = thrown instanceof LinkRefusedFault && !thrown.retriable;
      if (!forgotten || this.#options.joinToken === undefined) throw thrown;
      await this.#enrol();
    }
  }

  async #enrol(): Promise<void> {
    const { name, joinToken, labels = {}, version, controlPlane = false } = this.#options;
    if (joinToken === undefined) throw new LinkRefusedFault(401, 'join_token_required');

    const { publicKey, sign } = await this.#ownKey();
    const reply = await this.#env.link.enrol(
      {
        nodeName: name,
        labels,
        capacity: await readCapacity(this.#env.engine, this.#options),
        publicKey,
        agentVersion: version,
        controlPlane,
        proof: sign(formatEnrolmentText(name, publicKey)),
      },
      joinToken,
    );
    await this.#keep(reply);
    this.#env.log.info('enrolled', { node: reply.node.name, tenant: reply.node.tenant });
  }

  async #ownKey(): Promise<NodeKey> {
    this.#key ??= await loadNodeKey(this.#env.disk, this.#env.random);
    return this.#key;
  }

  async #keep({ node, token, expiresAt }: EnrolReply): Promise<void> {
    const before = this.#kept;
    const isOther = before !== undefined && before.node.id !== node.id;
    const former = isOther ? [...this.formerNodeIds, before.node.id].slice(-FORMER_KEPT) : this.formerNodeIds;
    this.#kept = { node, token, expiresAt, receivedAt: this.#clock.now(), ...(former.length > 0 && { former }) };
    this.#env.link.present(token);
    await this.#env.disk.write(FILE, JSON.stringify(this.#kept));
    if (isOther) this.#left.abort();
  }

  async #recall(): Promise<StoredEnrolment | undefined> {
    const text = await this.#env.disk.read(FILE);
    if (text === undefined) return undefined;
    const kept = JSON.parse(text) as StoredEnrolment;
    this.#env.link.present(kept.token);
    return kept;
  }
}

/** Whether the control plane knows neither the token nor, perhaps, the node. */
function isUnknown(thrown: unknown): boolean {
  if (!(thrown instanceof LinkRefusedFault)) return false;
  return thrown.status === 401 || thrown.code === 'resource_not_found';
}
