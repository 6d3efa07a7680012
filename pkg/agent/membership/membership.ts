import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';

import { backoffMs, type Random, sleep } from '../../clock/index.js';
import { asError } from '../../fault/index.js';
import {
  type EnrolReply,
  formatEnrolmentText,
  LinkRefusedFault,
  type NodeIdentity,
  RENEWAL_SKEW_MS,
  formatRenewalText,
} from '../../link/index.js';
import { type AgentEnv, type AgentOptions, readEngine } from '../agent-env.js';
import { type Disk, readStateFile } from '../disk.js';

const FILE = 'node.json';
const KEY_FILE = 'node-key.pem';
const RENEW_AT = 0.67;
const RETRY = { firstMs: 500, capMs: 30_000 };
const FORMER_IDS_MAX = 8;
/** The control plane knows the node and refuses only the time of the request. */
const TIME_CODES: ReadonlySet<string> = new Set(['renewal_time_skewed', 'renewal_replayed']);

/** The enrolment on disk: the node's identity and its token. */
interface StoredEnrolment extends EnrolReply {
  /** Wall time in milliseconds at which the token was received. */
  readonly receivedAt: number;
  /** The time that the last renewal was signed with: the next one needs a later time. */
  readonly renewedAt?: number;
  readonly former?: readonly string[];
}

/**
 * The agent's enrolment and node token.
 *
 * A node enrols once with a join token. From then on its key is enough: the token is renewed by signature at two thirds of
 * its life, or at once when the control plane rejects it. A node that was deleted enrols again with its join token and
 * becomes another node.
 */
export class Membership {
  readonly #env: AgentEnv;
  readonly #options: AgentOptions;
  readonly #readRun: () => string;
  #key: NodeKey | undefined;
  #enrolment: StoredEnrolment | undefined;
  #renewal: Promise<void> | undefined;
  #left = new AbortController();
  /** What the server's clock is ahead of this machine's, as far as it matters. */
  #offsetMs = 0;
  #lastTime = 0;

  /** `readRun` gives the header that names the run of this agent. */
  constructor(env: AgentEnv, options: AgentOptions, readRun: () => string = () => '') {
    this.#env = env;
    this.#options = options;
    this.#readRun = readRun;
  }

  /** Aborted when the machine becomes another node than the one that `join` last returned. */
  get left(): AbortSignal {
    return this.#left.signal;
  }

  /** Ids of the nodes that this machine was enrolled as before: their containers must be removed. */
  get formerNodeIds(): readonly string[] {
    return this.#enrolment?.former ?? [];
  }

  /** Enrols, or loads the earlier enrolment. Retries until it succeeds; undefined when aborted. */
  async join(signal: AbortSignal): Promise<NodeIdentity | undefined> {
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        this.#enrolment ??= await this.#load();
        if (!this.#enrolment) await this.#enrol();
        const { id, name, tenant } = this.#enrolment!.node;
        this.#left = new AbortController();
        return { id, name, tenant };
      } catch (thrown) {
        const error = asError(thrown);
        const code = error instanceof LinkRefusedFault ? error.code : error.name;
        this.#env.log.warn('enrolment failed, retrying', { code, attempt, error });
        await sleep(this.#env.clock, backoffMs(attempt, RETRY, this.#env.random), signal);
      }
    }
    return undefined;
  }

  /**
   * Makes a call, and repeats it once: with a fresh token when the control plane rejects the token or the node, with the
   * server's time when it rejects the agent's.
   */
  async authorised<T>(call: () => Promise<T>): Promise<T> {
    const { left } = this;
    try {
      return await call();
    } catch (thrown) {
      const isCorrected = this.#correctTime(thrown);
      if (!isCorrected && !isTokenRejected(thrown)) throw thrown;
      if (!isCorrected) await this.#refresh();
      if (left.aborted) throw thrown; // the call belongs to the former node identity
      return call();
    }
  }

  /** Renews the token before it expires, until aborted. */
  async keepTokenFresh(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      const wait = failures > 0 ? backoffMs(failures, RETRY, this.#env.random) : this.#renewInMs();
      await sleep(this.#env.clock, wait, signal);
      if (signal.aborted) return;
      try {
        await this.#refresh();
        failures = 0;
      } catch (thrown) {
        failures++;
        this.#env.log.warn('node token renewal failed, retrying', { attempt: failures, error: asError(thrown) });
      }
    }
  }

  /** Adopts the time of a server that refused this machine's. A node with a wrong clock stays a node. */
  #correctTime(thrown: unknown): boolean {
    if (!(thrown instanceof LinkRefusedFault) || thrown.serverTime === undefined) return false;
    this.#offsetMs = thrown.serverTime - this.#env.clock.now();
    this.#lastTime = 0;
    this.#env.log.warn('the clock of this machine differs from the server’s: synchronise both with NTP', {
      ms: this.#offsetMs,
    });
    return true;
  }

  /** The server's time as far as it is known, and later than every time that was given before. */
  #nextTime(after = 0): number {
    this.#lastTime = Math.max(this.#serverNow(), this.#lastTime + 1, after + 1);
    return this.#lastTime;
  }

  #serverNow(): number {
    return this.#env.clock.now() + this.#offsetMs;
  }

  #renewInMs(): number {
    if (!this.#enrolment) return RETRY.capMs;
    const { receivedAt, expiresAt } = this.#enrolment;
    return Math.max(0, receivedAt + (Date.parse(expiresAt) - receivedAt) * RENEW_AT - this.#serverNow());
  }

  /** One renewal serves all calls that were rejected at the same time. */
  #refresh(): Promise<void> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renew(): Promise<void> {
    try {
      await this.#renewOnce().catch(thrown => {
        if (!this.#correctTime(thrown)) throw thrown;
        return this.#renewOnce();
      });
    } catch (thrown) {
      const isForgotten = thrown instanceof LinkRefusedFault && !thrown.retriable && !TIME_CODES.has(thrown.code);
      if (!isForgotten || this.#options.joinToken === undefined) throw thrown;
      await this.#enrol();
    }
  }

  async #renewOnce(): Promise<void> {
    const key = await this.#ownKey();
    const nodeId = this.#enrolment?.node.id ?? '';
    const renewedAt = this.#enrolment?.renewedAt ?? 0;
    const isAhead = renewedAt > this.#serverNow() + RENEWAL_SKEW_MS; // the clock was wrong then
    const at = this.#nextTime(isAhead ? 0 : renewedAt);
    await this.#save(await this.#env.link.renew({ nodeId, at, proof: key.sign(formatRenewalText(nodeId, at)) }), at);
  }

  async #enrol(): Promise<void> {
    const { name, joinToken, labels = {}, version, controlPlane = false } = this.#options;
    if (joinToken === undefined) throw new LinkRefusedFault(401, 'join_token_required');

    const { publicKey, sign } = await this.#ownKey();
    const { capacity } = await readEngine(this.#env.engine, this.#options);
    const reply = await this.#env.link.enrol(
      {
        nodeName: name,
        labels,
        capacity,
        publicKey,
        agentVersion: version,
        controlPlane,
        proof: sign(formatEnrolmentText(name, publicKey)),
      },
      joinToken,
    );
    await this.#save(reply);
    this.#env.log.info('node enrolled', { node: reply.node.name, tenant: reply.node.tenant });
  }

  async #ownKey(): Promise<NodeKey> {
    this.#key ??= await loadNodeKey(this.#env.disk, this.#env.random);
    return this.#key;
  }

  async #save({ node, token, expiresAt }: EnrolReply, renewedAt?: number): Promise<void> {
    const before = this.#enrolment;
    const isOtherNode = before !== undefined && before.node.id !== node.id;
    const former = isOtherNode ? [...this.formerNodeIds, before.node.id].slice(-FORMER_IDS_MAX) : this.formerNodeIds;
    this.#enrolment = {
      node,
      token,
      expiresAt,
      receivedAt: this.#serverNow(),
      ...(renewedAt !== undefined && { renewedAt }),
      ...(former.length > 0 && { former }),
    };
    await this.#present(token);
    await this.#env.disk.keep(FILE, JSON.stringify(this.#enrolment)); // a token that is lost is renewed with the key
    if (isOtherNode) this.#left.abort();
  }

  async #load(): Promise<StoredEnrolment | undefined> {
    const isSound = ({ node, token }: Partial<StoredEnrolment>) => node?.id !== undefined && token !== undefined;
    const stored = await readStateFile<StoredEnrolment>(this.#env.disk, FILE, isSound);
    if (stored) await this.#present(stored.token);
    return stored;
  }

  async #present(token: string): Promise<void> {
    const { sign } = await this.#ownKey();
    this.#env.link.present({ token, sign, now: () => this.#nextTime(), agent: this.#readRun() });
  }
}

/** Whether the control plane rejected the token, or does not know the node. */
function isTokenRejected(thrown: unknown): boolean {
  if (!(thrown instanceof LinkRefusedFault) || thrown.code === 'node_proof_required') return false;
  return thrown.status === 401 || thrown.code === 'resource_not_found';
}

/** The PKCS 8 header before the 32 secret bytes of an Ed25519 key. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The private key that identifies a node. It never leaves the machine. */
export interface NodeKey {
  /** SPKI DER in base64. */
  readonly publicKey: string;
  /** A signature in base64. */
  sign(text: string): string;
}

/** Loads the key, or creates one and stores it before use: a repeated enrolment must present the same key. */
export async function loadNodeKey(disk: Disk, random: Random): Promise<NodeKey> {
  return toNodeKey(await loadPrivateKey(disk, random));
}

/** As `loadNodeKey`, for TLS, which signs by itself. */
export async function loadPrivateKey(disk: Disk, random: Random): Promise<KeyObject> {
  const stored = await disk.read(KEY_FILE);
  if (stored !== undefined) return createPrivateKey(stored);

  const der = Buffer.concat([PKCS8_PREFIX, random.bytes(32)]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  await disk.write(KEY_FILE, key.export({ format: 'pem', type: 'pkcs8' }).toString());
  return key;
}

function toNodeKey(key: KeyObject): NodeKey {
  return {
    publicKey: createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64'),
    sign: text => sign(null, Buffer.from(text), key).toString('base64'),
  };
}
