import { type Duplex, duplexPair } from 'node:stream';

import type { AssignedReplication, AssignedVolume, VolumeRole } from '../../../crds/volume/index.js';
import { makeTerm } from '../../../crds/volume/terms.testing.js';
import { type Random, seededRandom, untilAborted } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { silentLogger } from '../../log/index.js';
import { createMemoryDisk, type Disk } from '../disk.js';
import type { VolumeDriver } from '../volumes/index.js';
import { MemoryDriver } from './memory-driver.testing.js';
import { PeerFault, type Peers } from './peers.js';
import type { ReplicationRecord } from './record.js';
import { Replication, type SeenReplication } from './replication.js';
import { V } from './replication-lab.testing.js';

/** What a disk or the state folder is changed by: a process may die before or after each. */
const CHANGES = new Set(['snapshot', 'moveAside', 'dropSnapshot', 'receive', 'promote', 'write']);

/** One run of an agent. */
interface Life {
  isDead: boolean;
  readonly end: AbortController;
  readonly sockets: Duplex[];
}

/** How a change goes wrong that is to come. */
export interface Mishap {
  /** So many changes go well before. */
  readonly after: number;
  /** The change fails, and the process goes on; or the process dies before it, or after it. */
  readonly kind: 'failure' | 'death before' | 'death after';
}

/** What lies between the nodes of a walk, and what they have in common. */
export class WalkWorld {
  readonly clock = new ManualClock();
  readonly random: Random;
  /** Who reaches whom, as `a>b`. */
  readonly links = new Set<string>();
  readonly nodes: readonly WalkNode[];
  /** Goes up while something happens. */
  activity = 0;

  constructor(seed: number, names: readonly string[]) {
    this.random = seededRandom(seed);
    this.nodes = names.map(name => new WalkNode(name, this));
  }

  /** Resolves when nothing happens any more without time passing. */
  async rest(): Promise<void> {
    for (let idle = 0; idle < 3; idle++) {
      const before = this.activity;
      await new Promise(resolve => void setImmediate(resolve));
      if (this.activity !== before) idle = -1;
    }
  }

  dial(from: WalkNode, address: string): Duplex {
    const to = this.nodes.find(({ name }) => name === address)!;
    if (!this.links.has(`${from.name}>${to.name}`) || !to.handle) throw new PeerFault('no agent answers');
    const pair = duplexPair();
    for (const [at, end] of pair.entries()) {
      end.on('data', () => this.activity++).pause();
      end.on('error', () => undefined).on('close', () => pair[1 - at]!.destroy());
    }
    const [here, there] = pair;
    from.life.sockets.push(here);
    to.life.sockets.push(there);
    void to.handle({ publicKey: from.name, stream: there, admit: () => undefined });
    return here;
  }
}

/** A node with two disks that take turns. What it holds outlives its agent. */
export class WalkNode {
  readonly name: string;
  readonly files = new Map<string, string>();
  readonly disks = [new MemoryDriver(), new MemoryDriver()] as const;
  readonly #world: WalkWorld;
  /** The disk that is mounted. */
  at = 0;
  mishap: Mishap | undefined;
  assigned: AssignedVolume | undefined;
  handle: Parameters<Peers['listen']>[0] | undefined;
  life!: Life;
  replication!: Replication;

  constructor(name: string, world: WalkWorld) {
    this.name = name;
    this.#world = world;
    this.start();
  }

  get disk(): MemoryDriver {
    return this.disks[this.at]!;
  }

  get record(): ReplicationRecord | undefined {
    const text = this.files.get(`replication-${V}.json`);
    return text === undefined ? undefined : (JSON.parse(text) as ReplicationRecord);
  }

  /** The whole machine, as a snapshot of it has it. */
  save() {
    const disks = this.disks.map(({ volumes }) => structuredClone(volumes));
    return { files: new Map(this.files), at: this.at, disks };
  }

  revert({ files, at, disks }: ReturnType<WalkNode['save']>, what: 'all' | 'disks' | 'files'): void {
    if (what !== 'disks') replace(this.files, files);
    if (what === 'files') return;
    for (const [index, disk] of this.disks.entries()) replace(disk.volumes, disks[index]!);
    this.at = at;
  }

  /** Begins another life, on the same disks. */
  start(): void {
    const { clock, random } = this.#world;
    const life = { isDead: false, end: new AbortController(), sockets: [] };
    this.life = life;
    const guarded = <T extends object>(find: () => T): T =>
      new Proxy({} as T, {
        get: (_, name) => {
          const found = find()[name as keyof T];
          if (typeof found !== 'function' || name === 'describe') return found;
          return (...given: unknown[]) => this.#run(life, String(name), () => found.apply(find(), given) as unknown);
        },
      });
    const drivers = this.disks.map(disk => disk.driver);
    const memory = createMemoryDisk(this.files);
    this.replication = new Replication({
      clock,
      random,
      log: silentLogger,
      disk: guarded<Disk>(() => memory),
      driver: guarded<VolumeDriver>(() => drivers[this.at]!),
      peers: {
        address: this.name,
        connect: async ({ address }) => this.#world.dial(this, address),
        listen: async (handle, signal) => {
          this.handle = handle;
          await untilAborted(signal);
        },
      },
      onChange: () => undefined,
    });
    void this.replication.run(life.end.signal);
  }

  async #run(life: Life, name: string, work: () => unknown): Promise<unknown> {
    this.#world.activity++;
    if (life.isDead) throw new Error('the process is dead');
    if (!this.mishap || !CHANGES.has(name)) return work();
    const { after, kind } = this.mishap;
    this.mishap = after > 0 ? { after: after - 1, kind } : undefined;
    if (after > 0) return work();
    if (kind === 'death after') await work();
    if (kind !== 'failure') this.kill();
    throw new Error('it was not done');
  }

  kill(): void {
    const { life } = this;
    life.isDead = true;
    life.end.abort();
    for (const socket of life.sockets) socket.destroy();
    this.handle = undefined;
  }

  /** Assigns the volume, and has the part taken if that can be done. */
  async tell(role: VolumeRole, epoch: number, change: Partial<AssignedReplication> = {}): Promise<void> {
    const { nodes, clock } = this.#world;
    const peers = nodes
      .filter(each => each !== this)
      .map(({ name }) => ({ nodeId: name, publicKey: name, address: name }));
    const intervalSeconds = 5 + (clock.now() % 2); // another one has the copies looked at now
    const replication = { ...makeTerm(epoch), role, peers, intervalSeconds, fenceAfterSeconds: 30, ...change };
    this.assigned = { id: V, name: 'data', type: 'volume', sizeBytes: 2 ** 20, replication };
    await this.settle();
  }

  /** As an agent does again and again with what is assigned. */
  async settle(): Promise<void> {
    const { assigned } = this;
    if (!assigned) return;
    this.replication.assign(new Map([[V, assigned]]));
    try {
      await this.replication.materialise(assigned);
      await this.replication.settle(assigned);
    } catch {
      // It is tried again.
    }
  }

  /** What the control plane is told. */
  async describe(): Promise<SeenReplication> {
    if (!this.assigned) return {};
    return this.replication.describe(this.assigned).catch(() => ({}));
  }
}

function replace<T>(target: Map<string, T>, content: ReadonlyMap<string, T>): void {
  target.clear();
  for (const [key, each] of content) target.set(key, each);
}
