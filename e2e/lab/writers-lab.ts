import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import type { VolumeReport } from '../../crds/volume/index.js';
import { DockerdProcess } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { value } from '../../pkg/store/index.js';
import { ControlPlane } from './control-plane.js';
import { FaultyMachine } from './faulty-machine.js';
import { Fleet } from './fleet.js';
import { runMoor } from './moor.js';
import { TenantClient, unwrap } from './tenant-client.js';
import { isCopiedTo, type PromotionData, type ShownVolume, VolumeClient } from './volume-client.js';
import { readLives, type WriterLife } from './writer-acks.js';
import { ACKNOWLEDGED, buildWriterImage } from './writer-image.js';

const PATIENCE_MS = 240_000;
const LOOK_MS = 100;
const SIZE_BYTES = 256 * 2 ** 20;
const SETTINGS = {
  MOORING_NODE_FAILED_AFTER_SECONDS: '10',
  MOORING_NODE_GRACE_SECONDS: '1',
  MOORING_VOLUME_SYNC_SECONDS: '2',
};
/** What a copy waits at least before it takes over, with these settings: the fence time, and half a minute. */
export const TAKEOVER_MS = 40_000;

/** How drivers keep what was set aside, below the folder of a volume. */
const ASIDE = { btrfs: 'store', directory: 'snapshots' } as const;
export type Driver = keyof typeof ASIDE;

/** What a container acknowledged is kept open, since the file goes with the container. */
interface HeldLog {
  readonly container: string;
  readonly file: FileHandle;
}

/** Two machines with engines of their own, and a writer on a replicated volume of one of them. */
export class WritersLab {
  readonly #plane: ControlPlane;
  readonly #fleet: Fleet;
  readonly #other: DockerdProcess;
  readonly #shop: TenantClient;
  readonly #machines: readonly FaultyMachine[];
  readonly #driver: Driver;
  readonly #ended = new AbortController();
  readonly volume: VolumeClient;
  #logs: HeldLog[] = [];
  /** The machine that has the volume now, and the one with the copy. */
  primary: FaultyMachine;
  copy: FaultyMachine;
  epoch = 1;

  private constructor(parts: LabParts, machines: readonly FaultyMachine[], driver: Driver) {
    this.#plane = parts.plane;
    this.#fleet = parts.fleet;
    this.#other = parts.other;
    this.#shop = parts.shop;
    this.#machines = machines;
    this.#driver = driver;
    this.volume = new VolumeClient(parts.shop, 'data');
    [this.primary, this.copy] = machines as [FaultyMachine, FaultyMachine];
  }

  /** Resolves when the writer writes and has a copy. */
  static async start(driver: Driver): Promise<WritersLab> {
    const plane = await ControlPlane.start(SETTINGS);
    const fleet = await Fleet.start(plane);
    const other = await DockerdProcess.start({ folder: join(plane.folder, 'other') });
    const shop = await TenantClient.open(plane, 'shop');
    const flags = [`--volume-driver=${driver}`];
    const common = { fleet, client: shop.client, server: plane.server, flags };
    // One after the other, or both might take the same free port.
    const machines = [
      await FaultyMachine.start({ ...common, engine: fleet.engine, name: 'shop-1' }),
      await FaultyMachine.start({ ...common, engine: other, name: 'shop-2' }),
    ];
    const lab = new WritersLab({ plane, fleet, other, shop }, machines, driver);
    const body = { name: 'data', class: 'replicated', sizeBytes: SIZE_BYTES, primaryNode: 'shop-1' };
    const { id } = unwrap(await shop.client.request<ShownVolume>('POST', '/api/v1/dvm/volumes', { body }));
    await lab.volume.becomes('ready with a copy', volume => isCopiedTo(volume, 'shop-2'));
    const image = await buildWriterImage(fleet.registry.address);
    await shop.apply({ name: 'db', image, replicas: 1, volumes: [{ volumeId: id, mountPath: '/data' }] });
    for (const { view } of machines) void lab.#watch(view);
    await lab.writes();
    return lab;
  }

  /** Keeps hold of what every container acknowledges, whatever becomes of it. */
  async #watch(view: FaultyMachine['view']): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#findLogs(view).catch(() => undefined); // an engine may hang, and a container may end meanwhile
      await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #findLogs(view: FaultyMachine['view']): Promise<void> {
    for (const { id } of await view.running('db')) {
      if (this.#logs.some(({ container }) => container === id)) continue;
      const pid = await view.pid(id);
      this.#logs.push({ container: id, file: await open(`/proc/${pid}/root${ACKNOWLEDGED}`, 'r') });
    }
  }

  /** What every container has acknowledged that was seen since `forget`, each run of it by itself, in the order in which they began. */
  async lives(): Promise<readonly WriterLife[]> {
    const read = this.#logs.map(async ({ container, file }) => {
      const { size } = await file.stat();
      const { buffer } = await file.read(Buffer.alloc(size), 0, size, 0);
      return readLives(container, buffer.toString('utf8'));
    });
    const begun = (await Promise.all(read)).flat().filter(({ acknowledged }) => acknowledged.length > 0);
    return begun.toSorted((a, b) => a.acknowledged[0]!.at - b.acknowledged[0]!.at);
  }

  /** Lets go of all but the last, which writes still. */
  async forget(): Promise<void> {
    const { container } = (await this.lives()).at(-1)!;
    const [spent, kept] = [true, false].map(isSpent =>
      this.#logs.filter(log => (log.container !== container) === isSpent),
    );
    this.#logs = kept!;
    await Promise.all(spent!.map(({ file }) => file.close()));
  }

  /** Waits until more is acknowledged than now by one that still writes, and for so long; answers it. */
  async writes(forMs = 0): Promise<WriterLife> {
    const now = await readUptime();
    return until(
      'records to be acknowledged',
      async () => {
        const last = (await this.lives()).at(-1);
        return (last?.acknowledged.at(-1)?.at ?? 0) > now + forMs && last;
      },
      PATIENCE_MS + forMs,
    );
  }

  /** Waits until the copy shows a moment after now, by the record on its disk; answers it. */
  async copies(): Promise<number> {
    const [now, { id }] = [Date.now(), await this.volume.find()];
    const findLater = async () => {
      const at = await this.#fleet.readSyncedAt(this.copy.name, id);
      return at > now && at;
    };
    return until(`${this.copy.name} to have a later copy`, findLater, PATIENCE_MS);
  }

  /** Waits until the primary promises nothing any more. */
  async promisesNothing(): Promise<void> {
    const store = this.#plane.openStore();
    const isPromised = ({ role, fencesAfterSeconds }: VolumeReport) =>
      role === 'primary' && fencesAfterSeconds !== undefined;
    try {
      await until('the promise to be taken back', async () => {
        const { entries } = await store.list('volume-reports/');
        return !entries.some(entry => isPromised(value<VolumeReport>(entry)));
      });
    } finally {
      await store.close();
    }
  }

  /** Waits until the copy has taken over; from then on it is the primary. */
  async takesOver(): Promise<PromotionData> {
    this.epoch++;
    await this.volume.becomes(`promoted on ${this.copy.name}`, ({ phase, primaryNodeName, epoch }) => {
      return phase === 'Ready' && primaryNodeName === this.copy.name && epoch === this.epoch;
    });
    [this.primary, this.copy] = [this.copy, this.primary];
    return this.volume.findPromotion(this.epoch);
  }

  /** An administrator says that the machine of the primary is off. */
  async declareOff(): Promise<void> {
    unwrap(await this.#shop.client.request('POST', `/api/v1/nodes/${this.primary.name}/fence`));
  }

  /** Waits until the other machine has a copy of what is served now. */
  async isWhole(): Promise<void> {
    const { primary, copy, epoch } = this;
    await this.volume.becomes(`copied to ${copy.name}`, volume => {
      return volume.primaryNodeName === primary.name && volume.epoch === epoch && isCopiedTo(volume, copy.name);
    });
  }

  /** Whether the former primary has set aside a record. */
  async hasSetAside(n: number): Promise<boolean> {
    const { id, divergent } = await this.volume.find();
    const { name = 'nothing' } = divergent.findLast(({ epoch }) => epoch === this.epoch - 1) ?? {};
    const folder = join(this.#fleet.folder(this.copy.name), 'volumes', id, ASIDE[this.#driver], name);
    const records = await readFile(join(folder, 'records'), 'utf8').catch(() => '');
    return new RegExp(`^${n} `, 'm').test(records);
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

  async stop(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#machines.map(machine => machine.stop()));
    await Promise.all(this.#logs.map(({ file }) => file.close()));
    await this.#other.destroy();
    await this.#fleet.stop();
    await this.#plane.stop();
  }
}

interface LabParts {
  readonly plane: ControlPlane;
  readonly fleet: Fleet;
  readonly other: DockerdProcess;
  readonly shop: TenantClient;
}

/** Milliseconds since the boot of the machine, as containers read them. */
export async function readUptime(): Promise<number> {
  return Number((await readFile('/proc/uptime', 'utf8')).split(' ')[0]) * 1000;
}

/** A moment of the clock of this machine as containers read it. */
export async function toUptime(moment: number): Promise<number> {
  return moment - Date.now() + (await readUptime());
}
