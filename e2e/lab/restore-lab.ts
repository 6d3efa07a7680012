import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describeSetBack } from '../../crds/reasons/index.js';
import { until } from '../../dev/testing/index.js';
import { type NodePreview, previewRestore } from '../../pkg/link/index.js';
import type { EtcdStore } from '../../pkg/store/index.js';
import { ControlPlane } from './control-plane.js';
import { type EnrolledMachine, Fleet } from './fleet.js';
import { type MoorResult, runMoor } from './moor.js';
import { TenantClient, unwrap } from './tenant-client.js';

const PATIENCE_MS = 240_000;
const run = promisify(execFile);

/** A volume as the API shows it, as far as the story looks. */
interface ShownVolume {
  readonly id: string;
  readonly phase: string;
  readonly reason: string;
  readonly primaryNodeName: string | null;
  readonly replicas: readonly { readonly nodeId: string; readonly nodeName: string; readonly state: string }[];
}

/** Two machines with volumes and copies, and an etcd that is saved and set back as the guide says. */
export class RestoreLab {
  readonly plane: ControlPlane;
  readonly fleet: Fleet;
  readonly shop: TenantClient;
  readonly machines: readonly [EnrolledMachine, EnrolledMachine];
  readonly #store: EtcdStore;

  private constructor(
    plane: ControlPlane,
    fleet: Fleet,
    shop: TenantClient,
    machines: readonly [EnrolledMachine, EnrolledMachine],
  ) {
    this.plane = plane;
    this.fleet = fleet;
    this.shop = shop;
    this.machines = machines;
    this.#store = plane.openStore();
  }

  /** `driver` keeps the volumes of both machines. */
  static async start(driver: 'btrfs' | 'directory'): Promise<RestoreLab> {
    const soon = { MOORING_NODE_FAILED_AFTER_SECONDS: '20', MOORING_NODE_GRACE_SECONDS: '5' };
    const plane = await ControlPlane.start({ ...soon, MOORING_VOLUME_SYNC_SECONDS: '2' }, { isOpen: true });
    let fleet: Fleet | undefined;
    try {
      fleet = await Fleet.start(plane);
      const shop = await TenantClient.open(plane, 'shop');
      const flags = [`--volume-driver=${driver}`, '--volume-listen=127.0.0.1:0'];
      const enrol = (name: string) => fleet!.enrol(shop.client, name, {}, { flags });
      return new RestoreLab(plane, fleet, shop, await Promise.all([enrol('shop-1'), enrol('shop-2')]));
    } catch (thrown) {
      await fleet?.stop();
      await plane.stop();
      throw thrown;
    }
  }

  async stop(): Promise<void> {
    await this.#store.close();
    await this.fleet.stop();
    await this.plane.stop();
  }

  async makeVolume(name: string, of: Readonly<Record<string, unknown>>): Promise<ShownVolume> {
    const body = { name, sizeBytes: 128 * 2 ** 20, primaryNode: 'shop-1', ...of };
    unwrap(await this.shop.client.request('POST', '/api/v1/dvm/volumes', { body }));
    return this.volumeBecomes(name, 'ready', ({ phase }) => phase === 'Ready');
  }

  async findVolume(name: string): Promise<ShownVolume> {
    return unwrap(await this.shop.client.request<ShownVolume>('GET', `/api/v1/dvm/volumes/${name}`));
  }

  async volumeBecomes(name: string, what: string, isSo: (volume: ShownVolume) => boolean): Promise<ShownVolume> {
    let last: ShownVolume | undefined;
    const look = async () => {
      last = await this.findVolume(name);
      return isSo(last) ? last : undefined;
    };
    return until(`volume ${name} to be ${what}`, look, PATIENCE_MS).catch((thrown: unknown) => {
      throw new Error(`volume ${name} is not ${what}: ${JSON.stringify(last)}`, { cause: thrown });
    });
  }

  /** Removes a volume, and waits until its bytes are gone. */
  async removeVolume(name: string): Promise<void> {
    unwrap(await this.shop.client.request('DELETE', `/api/v1/dvm/volumes/${name}`));
    const isGone = async () => !(await this.shop.client.request('GET', `/api/v1/dvm/volumes/${name}`)).ok;
    await until(`volume ${name} to be gone`, isGone, PATIENCE_MS);
  }

  /** Runs a deployment of one container that mounts a volume; answers the container. */
  async serve(
    name: string,
    image: string,
    volumeId: string,
    about: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    await this.shop.apply({ name, image, replicas: 1, volumes: [{ volumeId, mountPath: '/data' }], ...about });
    await this.shop.reaches(name, 'Running');
    return this.only(name);
  }

  async only(name: string): Promise<string> {
    return until(`one container of ${name}`, async () => {
      const running = await this.fleet.view.running(name);
      return running.length === 1 ? running[0]!.id : undefined;
    });
  }

  moor(...words: readonly string[]): Promise<MoorResult> {
    return runMoor(this.plane, this.shop, ...words);
  }

  /** As an operator, on etcd itself. */
  restore(...words: readonly string[]): Promise<MoorResult> {
    return this.moor('admin', 'restore', ...words, '--etcd-endpoints', this.plane.etcd.endpoint);
  }

  async backUp(name: string): Promise<string> {
    const file = join(this.plane.folder, name);
    await this.#etcdctl('--endpoints', this.plane.etcd.endpoint, 'snapshot', 'save', file);
    return file;
  }

  /** Loses etcd, and starts it with what was saved. Servers, controllers and agents run on. */
  async setBack(file: string): Promise<void> {
    const data = join(this.plane.folder, 'etcd');
    await this.plane.etcd.kill('SIGKILL');
    await rm(data, { recursive: true });
    await this.#etcdctl('snapshot', 'restore', file, '--data-dir', data);
    await this.plane.etcd.restart();
  }

  async nodes(): Promise<readonly NodePreview[]> {
    return (await previewRestore(this.#store)).nodes;
  }

  /** Every container that there is, running or not, as `deployment/slot`. */
  async listContainers(): Promise<ReadonlyMap<string, string>> {
    const all = await this.fleet.view.containers();
    const toName = (labels: Readonly<Record<string, string>>) =>
      `${labels['mooring.io/deployment']}/${labels['mooring.io/slot']}`;
    return new Map(all.map(({ id, labels }) => [id, toName(labels)]));
  }

  /** On which machines a text that a tenant wrote to a volume is to be found on the disk. */
  async findBytes(id: string, text: string): Promise<readonly string[]> {
    const found: string[] = [];
    for (const { name } of this.machines) {
      const folder = join(this.fleet.folder(name), 'volumes', id);
      const isThere = await run('grep', ['-rqsF', '--', text, folder]).then(
        () => true,
        () => false,
      );
      if (isThere) found.push(name);
    }
    return found;
  }

  /** The machines that have a folder for a volume. */
  findFolders(id: string): readonly string[] {
    const has = ({ name }: EnrolledMachine) => existsSync(join(this.fleet.folder(name), 'volumes', id));
    return this.machines.filter(has).map(({ name }) => name);
  }

  /** Kills the agents and starts them again; resolves when each holds. */
  async restartHolding(): Promise<void> {
    const [said = ''] = describeSetBack().split('"'); // in a log quotes are escaped
    for (const { name, agent } of this.machines) {
      const count = async () => (await readFile(`${this.fleet.folder(name)}.log`, 'utf8')).split(said).length;
      const before = await count();
      await agent.restart('SIGKILL');
      await until(`the agent of ${name} to hold again`, async () => (await count()) > before, PATIENCE_MS);
    }
  }

  #etcdctl(...words: readonly string[]) {
    return run('etcdctl', words, { env: { ...process.env, ETCDCTL_API: '3' } });
  }
}
