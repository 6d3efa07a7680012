import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

import type { AssignedReplication, AssignedVolume, VolumePeer, VolumeRole } from '../../../crds/volume/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { type Clock, seededRandom, systemClock } from '../../clock/index.js';
import { until } from '../../../dev/testing/index.js';
import { silentLogger } from '../../log/index.js';
import { createMemoryDisk, type Disk } from '../disk.js';
import type { VolumeDriver } from '../volumes/index.js';
import type { MemoryDriver } from './memory-driver.testing.js';
import { formatAsideName } from './record.js';
import { Replication } from './replication.js';
import { TlsPeers } from './tls-peers.js';

export const V = 'vol_01jx4t9mk3v8q2zr5w7y6n0rdv';
export const W = 'vol_01jx4t9mk3v8q2zr5w7y6n0rdw';

export interface LabNodeOptions {
  readonly stallMs?: number;
  readonly bandwidth?: number;
  readonly key?: KeyObject;
  readonly files?: Map<string, string>;
  /** In the place of `files`, where a process is killed. */
  readonly disk?: Disk;
  readonly sizeBytes?: number;
  readonly clock?: Clock;
  readonly findWriter?: (id: string) => Promise<string | undefined>;
}

/** Each start of an agent draws other numbers. */
let starts = 0;

/** The part of an agent that copies volumes, over TLS on loopback. It can be ended and opened again on the same files. */
export class LabNode {
  readonly nodeId: string;
  readonly key: KeyObject;
  readonly files: Map<string, string>;
  readonly driver: VolumeDriver;
  readonly peers: TlsPeers;
  readonly replication: Replication;
  readonly #options: LabNodeOptions;
  readonly #end = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(nodeId: string, driver: VolumeDriver, peers: TlsPeers, key: KeyObject, options: LabNodeOptions) {
    const { stallMs = 60_000, files = new Map<string, string>(), disk = createMemoryDisk(files) } = options;
    this.nodeId = nodeId;
    this.key = key;
    this.files = files;
    this.driver = driver;
    this.peers = peers;
    this.#options = options;
    const base = { clock: options.clock ?? systemClock, random: seededRandom(++starts), log: silentLogger, disk };
    const writers = options.findWriter ? { findWriter: options.findWriter } : {};
    this.replication = new Replication({ ...base, peers, driver, stallMs, ...writers, onChange: () => undefined });
    this.#ended = this.replication.run(this.#end.signal);
  }

  static async open(nodeId: string, driver: VolumeDriver, options: LabNodeOptions = {}): Promise<LabNode> {
    const { key = generateKeyPairSync('ed25519').privateKey, bandwidth } = options;
    const listen = { host: '127.0.0.1', port: 0 };
    const peers = await TlsPeers.open({ key, clock: systemClock, listen, bandwidth });
    return new LabNode(nodeId, driver, peers, key, options);
  }

  get publicKey(): string {
    return createPublicKey(this.key).export({ type: 'spki', format: 'der' }).toString('base64');
  }

  get asPeer(): VolumePeer {
    const { nodeId, publicKey, peers } = this;
    return { nodeId, publicKey, address: peers.address! };
  }

  /** Assigns volume V, and takes the part. */
  async assign(
    role: VolumeRole,
    epoch: number,
    peers: readonly VolumePeer[],
    change: Partial<AssignedReplication> = {},
  ) {
    const replication = { ...makeTerm(epoch), role, peers, intervalSeconds: 0.02, fenceAfterSeconds: 30, ...change };
    const { sizeBytes = 2 ** 20 } = this.#options;
    const volume: AssignedVolume = { id: V, name: 'data', type: 'volume', sizeBytes, replication };
    this.replication.assign(new Map([[V, volume]]));
    await this.driver.materialise(volume);
    await this.replication.settle(volume);
    return volume;
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.#ended;
    await this.peers.close();
  }
}

/** The nodes of a test: what it opens is closed with it. */
export class LabNodes {
  readonly #open: LabNode[] = [];

  async start(name: string, { driver }: Pick<MemoryDriver, 'driver'>, options: LabNodeOptions = {}): Promise<LabNode> {
    const node = await LabNode.open(name, driver, options);
    this.#open.push(node);
    return node;
  }

  async close(): Promise<void> {
    for (const node of this.#open.splice(0)) await node.close();
  }
}

/** Makes one node the primary of volume V and another one its copy; answers what each was assigned. */
export async function pairUp(primary: LabNode, copy: LabNode, epoch = 1) {
  const onB = await copy.assign('replica', epoch, [primary.asPeer]);
  return { onA: await primary.assign('primary', epoch, [copy.asPeer]), onB };
}

/** What the snapshots of volume V hold. */
export function listCopies(disk: MemoryDriver): readonly string[] {
  return [...(disk.volumes.get(V)?.snapshots.values() ?? [])];
}

/** What a primary of epoch 1 held, once it is set aside. */
export const ASIDE = formatAsideName(makeTerm(1));

/** Waits until a disk has one snapshot of volume V, with this content. */
export async function untilCopied(content: string, disk: MemoryDriver): Promise<void> {
  const isThere = () => listCopies(disk).length === 1 && listCopies(disk)[0] === content;
  await until(`a copy of ${content.slice(0, 20)}`, isThere);
}
