import { join } from 'node:path';

import { until } from '../../dev/testing/index.js';
import type { FailpointName } from '../../pkg/failpoint/index.js';
import { ControlPlane } from './control-plane.js';
import {
  buildDatabaseImage,
  DATABASE,
  type Opening,
  readOpening,
  readStored,
  type StoredRecord,
} from './database-image.js';
import { type EnrolledMachine, Fleet } from './fleet.js';
import { runMoor } from './moor.js';
import { PostgresProcess } from './postgres.js';
import { TenantClient, unwrap } from './tenant-client.js';
import { isCopiedTo, type PromotionData, type ShownVolume, VolumeClient } from './volume-client.js';

const PATIENCE_MS = 240_000;

/** What a machine leaves behind that is lost. */
export interface Loss {
  /** When its containers had ended, and when its disk was out of reach. */
  readonly endedAt: number;
  readonly offAt: number;
  /** What its database has acknowledged. */
  readonly stored: readonly StoredRecord[];
  /** The moment that the copy shows, by the record on its own disk. */
  readonly copiedAt: number;
}

/** Two machines, a database on a replicated volume of one of them, and what can be done to them. */
export class DatabaseLab {
  readonly #plane: ControlPlane;
  readonly #fleet: Fleet;
  readonly #shop: TenantClient;
  readonly #id: string;
  readonly volume: VolumeClient;
  /** The machine that has the volume now, and the one with the copy. */
  primary: EnrolledMachine;
  copy: EnrolledMachine;
  epoch = 1;
  /** When the machine before was lost: of what it acknowledged, containers that are left may still tell. */
  #begunAt = 0;

  private constructor(plane: ControlPlane, fleet: Fleet, shop: TenantClient, id: string, machines: EnrolledMachine[]) {
    this.#plane = plane;
    this.#fleet = fleet;
    this.#shop = shop;
    this.#id = id;
    this.volume = new VolumeClient(shop, 'data');
    [this.primary, this.copy] = machines as [EnrolledMachine, EnrolledMachine];
  }

  /** Everything is set as it is delivered. Resolves when the database writes and has a copy. */
  static async start(sizeBytes: number): Promise<DatabaseLab> {
    const plane = await ControlPlane.start();
    let fleet: Fleet | undefined;
    try {
      fleet = await Fleet.start(plane);
      const shop = await TenantClient.open(plane, 'shop');
      const flags = ['--volume-driver=btrfs', '--volume-listen=127.0.0.1:0'];
      const enrol = (name: string) => fleet!.enrol(shop.client, name, {}, { flags });
      const machines = await Promise.all([enrol('shop-1'), enrol('shop-2')]);
      const body = { name: 'data', class: 'replicated', sizeBytes, primaryNode: 'shop-1' };
      const { id } = unwrap(await shop.client.request<ShownVolume>('POST', '/api/v1/dvm/volumes', { body }));
      const lab = new DatabaseLab(plane, fleet, shop, id, machines);
      const image = await buildDatabaseImage(fleet.registry.address);
      await lab.volume.becomes('ready with a copy', volume => isCopiedTo(volume, 'shop-2'));
      await shop.apply({ name: 'db', image, replicas: 1, volumes: [{ volumeId: id, mountPath: '/data' }] });
      await lab.writesOn();
      return lab;
    } catch (thrown) {
      await fleet?.stop();
      await plane.stop();
      throw thrown;
    }
  }

  async stop(): Promise<void> {
    await this.#fleet.stop();
    await this.#plane.stop();
  }

  /** The container that writes on the machine of the primary; undefined while there is none. */
  async writer(): Promise<string | undefined> {
    const running = await this.#fleet.view.running('db');
    return running.find(({ name }) => name.startsWith(`${this.primary.name}-`))?.id;
  }

  /** Everything that writes, on any machine. */
  async countWriters(): Promise<number> {
    return (await this.#fleet.view.running('db')).length;
  }

  /** Waits until the database has acknowledged more than it has now; answers the container. */
  async writesOn(): Promise<string> {
    let first: { readonly id: string; readonly n: number } | undefined;
    return until(
      `the database to write on ${this.primary.name}`,
      async () => {
        const id = await this.writer();
        const last = id === undefined ? undefined : readStored(await this.#fleet.view.log(id, 2)).at(-1);
        if (id === undefined || !last) return undefined;
        if (first?.id !== id) first = { id, n: last.n };
        return last.n > first.n ? id : undefined;
      },
      PATIENCE_MS,
    );
  }

  /** Waits until the copy shows a moment after now, by the record on its disk. */
  async copies(): Promise<void> {
    const now = Date.now();
    await until(`${this.copy.name} to have a later copy`, async () => (await this.#copiedAt()) > now, PATIENCE_MS);
  }

  #copiedAt(): Promise<number> {
    return this.#fleet.readSyncedAt(this.copy.name, this.#id);
  }

  async resize(sizeBytes: number): Promise<void> {
    unwrap(await this.#shop.client.request('PATCH', this.volume.path, { body: { sizeBytes } }));
  }

  /** The machine of the primary is off from now on, whether its agent has died before or not. */
  async lose(): Promise<Loss> {
    const containers = await this.#fleet.view.containers();
    const own = containers.filter(({ name, labels }) => {
      return labels['mooring.io/deployment'] === 'db' && name.startsWith(`${this.primary.name}-`);
    });
    const endedAt = await this.#fleet.turnOff(this.primary);
    const offAt = Date.now();
    const logs = await Promise.all(own.map(({ id }) => this.#fleet.view.log(id)));
    const stored = logs.flatMap(readStored).filter(each => each.at >= this.#begunAt);
    this.#begunAt = endedAt;
    return { endedAt, offAt, stored: stored.sort((a, b) => a.n - b.n), copiedAt: await this.#copiedAt() };
  }

  /** An administrator says that the machine of the primary is off. */
  async declareOff(): Promise<void> {
    unwrap(await this.#shop.client.request('POST', `/api/v1/nodes/${this.primary.name}/fence`));
  }

  /** Waits until the copy has taken over; from then on it is the primary. */
  async takesOver(): Promise<PromotionData> {
    const { name } = this.copy;
    this.epoch++;
    await this.volume.becomes(`promoted on ${name}`, ({ phase, primaryNodeName, epoch }) => {
      return phase === 'Ready' && primaryNodeName === name && epoch === this.epoch;
    });
    [this.primary, this.copy] = [this.copy, this.primary];
    return this.volume.findPromotion(this.epoch);
  }

  /** Moves the volume to the machine of the copy by a command, and answers what was acknowledged before and what was printed. */
  async moves(
    ...command: readonly string[]
  ): Promise<{ readonly stored: readonly StoredRecord[]; readonly printed: string }> {
    const log = this.#fleet.view.followLog(await this.writesOn());
    const { status, stdout, stderr } = await runMoor(this.#plane, this.#shop, ...command, '--timeout', '4m');
    if (status !== 0) throw new Error(`moor ${command.join(' ')} ended with ${status}: ${stdout}${stderr}`);
    const stored = readStored(await log);
    this.epoch++;
    await this.volume.becomes(`moved to ${this.copy.name}`, ({ phase, primaryNodeName, epoch }) => {
      return phase === 'Ready' && primaryNodeName === this.copy.name && epoch === this.epoch;
    });
    [this.primary, this.copy] = [this.copy, this.primary];
    return { stored, printed: `${stderr}${stdout}` };
  }

  /** A machine that was drained takes work again: waits until it has its copy. */
  async undrains(): Promise<void> {
    unwrap(await this.#shop.client.request('POST', `/api/v1/nodes/${this.copy.name}/undrain`));
    await this.volume.becomes('copied again', volume => isCopiedTo(volume, this.copy.name));
  }

  /** What the database has found on the machine of the primary, once it writes there, and when it acknowledged its first record. */
  async opens(): Promise<Opening & { readonly servesAt: number }> {
    const log = await this.#fleet.view.log(await this.writesOn());
    return { ...readOpening(log)!, servesAt: readStored(log)[0]!.at };
  }

  /** Whether the database on the primary has a record as it was acknowledged: its checksum counts for all before it. */
  async holds({ n, sum }: StoredRecord): Promise<boolean> {
    const found = `$(psql -XqAtc 'SELECT sum FROM records WHERE n = ${n}')`;
    return this.#fleet.view.succeeds((await this.writer())!, `test "${found}" = ${sum}`);
  }

  /** The machine that was lost is on again: waits until it is a copy. */
  async returns(): Promise<void> {
    await this.#fleet.turnOn(this.copy);
    const { primary, epoch } = this;
    await this.volume.becomes(`copied to ${this.copy.name}`, volume => {
      const isSame = volume.primaryNodeName === primary.name && volume.epoch === epoch;
      return isSame && isCopiedTo(volume, this.copy.name);
    });
  }

  /** What the database that was set aside of the epoch before on the machine that returned says of a record; undefined when nothing was. */
  async askSetAside(n: number): Promise<string | undefined> {
    const { divergent, replicas } = await this.volume.find();
    const { nodeId } = replicas.find(({ nodeName }) => nodeName === this.copy.name) ?? {};
    const kept = divergent.findLast(each => each.nodeId === nodeId && each.epoch === this.epoch - 1);
    if (!kept) return undefined;
    const folder = join(this.#fleet.folder(this.copy.name), 'volumes', this.#id, 'store', kept.name, DATABASE);
    const database = await PostgresProcess.start(folder);
    try {
      return database.ask(`SELECT sum FROM records WHERE n = ${n}`);
    } finally {
      await database.stop();
    }
  }

  /** Gives up all that was set aside, and waits until no node has any of it. */
  async discards(): Promise<void> {
    for (const { nodeId, name } of (await this.volume.find()).divergent) {
      const words = ['volumes', 'divergent', 'delete', 'data', nodeId, name];
      const isTaken = async () => (await runMoor(this.#plane, this.#shop, ...words)).status === 0;
      await until(`${name} to be given up`, isTaken, PATIENCE_MS);
    }
    await this.volume.becomes('rid of what was set aside', ({ divergent }) => divergent.length === 0);
  }

  /** Has an agent die at a point, and answers when it has. `meanwhile` is what brings it there. */
  async dies(machine: EnrolledMachine, point: FailpointName, meanwhile?: () => Promise<void>): Promise<void> {
    await this.arm(machine, point);
    await meanwhile?.();
    await machine.agent.died(point, PATIENCE_MS);
  }

  /** Starts an agent again, which is to die at a point. */
  async arm(machine: EnrolledMachine, point: FailpointName): Promise<void> {
    await machine.agent.restart('SIGKILL', `${point}=kill`);
  }
}
