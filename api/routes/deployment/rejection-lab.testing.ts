import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import { exampleVolumes, type RejectionCode } from '../../../crds/rejections/index.js';
import type { StoredVolume, VolumePhase } from '../../../crds/volume/index.js';
import { machine1, machine2, scratch } from '../../../crds/workload/facts.testing.js';
import { systemClock } from '../../../pkg/clock/index.js';
import type { Settings } from '../../../pkg/config/index.js';
import { create, MemoryStore, type Revision, StoreUnavailableFault } from '../../../pkg/store/index.js';
import { ApiLab, type LabResponse } from '../../api-lab.testing.js';
import { makeVolume } from '../../../crds/volume/volume.testing.js';

const AT = new Date(0).toISOString();

/** A request that is to be refused. */
export interface RejectableRequest {
  /** Default: `POST`. */
  readonly method?: string;
  /** Default: that of deployments. */
  readonly path?: string;
  readonly body?: unknown;
  /** Default: the tenant that has something of everything. `bare` has nothing at all. */
  readonly as?: 'rich' | 'bare';
  /** `X-Tenant-ID` names the tenant of the caller. */
  readonly isNamed?: true;
}

/** One row of a table: a request, and the rejection that it earns. */
export type CodeCase = readonly [name: string, field: string, request: RejectableRequest];

/** The rows of one code. */
export interface CodeTable {
  readonly code: RejectionCode;
  readonly status: number;
  readonly cases: readonly CodeCase[];
}

export { machine1, machine2, scratch };
export const { ready, writtenByOther, object, degraded, absent } = exampleVolumes;

/** A deployment that would be accepted, with some fields changed. */
export const web = (fields: Readonly<Record<string, unknown>> = {}): RejectableRequest => ({
  body: { kind: 'Deployment', name: 'web', image: 'registry.example.com/shop/web:1.4.2', ...fields },
});

/** The same request as a dry run. */
export const toDryRun = (request: RejectableRequest): RejectableRequest => ({
  ...request,
  path: `${request.path ?? '/api/v1/deployments'}?dryRun=true`,
});

/** A change of a deployment that stands. */
export const change = (name: string, body: unknown): RejectableRequest => ({
  method: 'PUT',
  path: `/api/v1/deployments/${name}`,
  body,
});

/** A secret entry that would be accepted, with some parts changed. */
export const entry = (parts: Readonly<Record<string, unknown>> = {}) => ({
  name: 'DB',
  vault_path: 'deployments/web-db',
  anchor: 'process',
  ...parts,
});

const images = {
  imageFact: (_tenant: string, image: string) =>
    Promise.resolve(
      image.includes('gone')
        ? 'absent'
        : image.includes('locked')
          ? 'credential_store_unavailable'
          : image.startsWith('10.')
            ? 'refused'
            : 'present',
    ) as Promise<'absent' | 'refused' | 'credential_store_unavailable' | 'present'>,
};

/** How the lab differs from the usual one. */
export interface WorldOptions {
  readonly settings?: Partial<Settings>;
  /** The store does not say how far it is, so it is unknown whether the cache is up to date. */
  readonly isAway?: boolean;
  /** The agents of all nodes have ceased to send heartbeats. */
  readonly isSilent?: boolean;
  /** A deployment that another waits for to be healthy, and that is not there. */
  readonly waitedFor?: string;
  /** What is stored beside the usual of the tenant that has something of everything, by key. */
  readonly records?: (tenant: string) => Readonly<Record<string, object>>;
}

/** A store that can stop saying how far it is. */
class LeavingStore extends MemoryStore {
  isAway = false;

  override async revision(): Promise<Revision> {
    if (this.isAway) throw new StoreUnavailableFault('the store is away');
    return super.revision();
  }
}

/** A server with one tenant that has something of everything and one that has nothing. */
export class RejectionLab {
  readonly lab: ApiLab;
  readonly #store = new LeavingStore({ clock: systemClock });
  readonly #isAway: boolean;
  readonly #isSilent: boolean;
  readonly #waitedFor: string | undefined;
  readonly #records: NonNullable<WorldOptions['records']>;
  #tokens: Readonly<Record<'rich' | 'bare', string>> = { rich: '', bare: '' };

  constructor(options: WorldOptions = {}) {
    const { settings = {}, isAway = false, isSilent = false, waitedFor, records = () => ({}) } = options;
    this.lab = new ApiLab({ store: this.#store, images, settings });
    this.#isAway = isAway;
    this.#isSilent = isSilent;
    this.#waitedFor = waitedFor;
    this.#records = records;
  }

  async start(): Promise<void> {
    await this.lab.start();
    const { a, b } = this.lab;
    this.#tokens = { rich: await this.lab.tenantToken(a), bare: await this.lab.tenantToken(b) };
    await this.#seed(machine1, 'machine-1', { 'mooring.io/country': 'DE' });
    await this.#seed(machine2, 'machine-2', { 'mooring.io/geo-region': 'us' });
    await this.#volume(ready);
    await this.#volume(writtenByOther);
    await this.#volume(object, { class: 'object' });
    await this.#volume(degraded, {}, 'Degraded');
    await this.#volume(scratch, { class: 'ephemeral', type: 'tmpfs' });
    await this.#accept('/api/v1/networks', 'POST', { name: 'backend', nodeId: machine1 });
    await this.#accept('/api/v1/networks', 'POST', { name: 'vault', nodeId: machine1, internal: true });
    await this.#accept('/api/v1/networks', 'POST', { name: 'edge', nodeId: machine2 });
    await this.#accept('/api/v1/networks', 'POST', { name: 'idle', nodeId: machine2 });
    await this.#accept('/api/v1/deployments', 'POST', web({ name: 'cache' }).body);
    await this.#accept('/api/v1/deployments', 'POST', web({ name: 'joined', networks: ['backend', 'vault'] }).body);
    await this.#accept('/api/v1/jobs', 'POST', {
      kind: 'Job',
      name: 'nightly',
      image: 'registry.example.com/shop/nightly:1',
    });
    if (this.lab.settings.volumeManagement) await this.#deployments();
    if (this.#waitedFor !== undefined) {
      const dependsOn = [{ name: this.#waitedFor, condition: 'healthy' }];
      await this.#accept('/api/v1/deployments', 'POST', web({ name: 'patient', dependsOn }).body);
    }
    for (const [key, record] of Object.entries(this.#records(a))) await create(this.lab.store, key, record);
    if (this.#isSilent) await this.#silence('machine-1', 'machine-2');
    await this.lab.cache.barrier();
    this.#store.isAway = this.#isAway;
  }

  /** A database that writes to a volume, and who waits for it. */
  async #deployments(): Promise<void> {
    const check = { type: 'exec', command: ['/bin/check'] };
    const mount = { volumeId: writtenByOther, mountPath: '/data' };
    await this.#accept('/api/v1/secrets/deployments/db-admin', 'PUT', { values: { password: 'something long' } });
    const database = { name: 'db', replicas: 1, healthCheck: check, volumes: [mount] };
    const anchor = `volume(${writtenByOther})`;
    await this.#accept('/api/v1/deployments', 'POST', {
      ...(web(database).body as object),
      secrets: [entry({ vault_path: 'deployments/db-admin', anchor, rotation: 'restart' })],
    });
    const dependsOn = [{ name: 'db' }, { name: 'web', condition: 'started' }];
    await this.#accept('/api/v1/deployments', 'POST', web({ name: 'worker', dependsOn }).body);
  }

  stop(): Promise<void> {
    return this.lab.stop();
  }

  ask({
    method = 'POST',
    path = '/api/v1/deployments',
    body,
    as = 'rich',
    isNamed,
  }: RejectableRequest): Promise<LabResponse> {
    const { a, b } = this.lab;
    const headers = isNamed ? { 'x-tenant-id': as === 'rich' ? a : b } : {};
    return this.lab.ask(method, path, { token: this.#tokens[as], headers, ...(body !== undefined && { body }) });
  }

  /** Everything that is stored: records, secrets and all. */
  async stored(): Promise<string> {
    const { entries } = await this.lab.store.list('');
    return entries.map(({ key, revision }) => `${key}@${revision}`).join('\n');
  }

  async #accept(path: string, method: string, body: unknown): Promise<void> {
    const answer = await this.ask({ method, path, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
    await this.lab.cache.barrier();
  }

  async #seed(id: string, name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    const { store, a } = this.lab;
    const node: StoredNode = {
      metadata: { tenant: a, uid: id, generation: 1, createdAt: '', updatedAt: '', specHash: '' },
      id,
      name,
      labels,
      capacity: { cpu: 4000, memory: 2 ** 33, disk: 2 ** 36 },
      publicKey: '',
      controlPlane: false,
      agentVersion: '0',
    };
    await create(store, keys.node(a, name), node);
    await create(store, keys.alive(a, name), { id, lease: '0', since: '' });
  }

  async #silence(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const key = keys.alive(this.lab.a, name);
      const at = (await this.lab.store.get(key))!.revision;
      await this.lab.store.commit({ guards: [{ key, at }], puts: [], deletes: [key] });
    }
  }

  async #volume(id: string, fields: Partial<StoredVolume> = {}, phase: VolumePhase = 'Ready'): Promise<void> {
    const { store, a } = this.lab;
    const metadata = { tenant: a, uid: id, generation: 1, createdAt: AT, updatedAt: AT, specHash: '' };
    const volume = makeVolume(metadata, { name: id.slice(-3), sizeBytes: 2 ** 30, primaryNode: machine1, ...fields });
    await create(store, keys.volume(a, id), volume);
    const told = { reason: 'volume_ready', message: '', primaryNode: machine1, copies: [], since: AT };
    await create(store, keys.volumeStatus(a, id), { id, phase, ...told });
  }
}

/** Asks every request of the tables, and looks whether each is refused as it says and leaves everything as it was. */
export function describeCodes(title: string, tables: readonly CodeTable[], options: WorldOptions = {}): void {
  describe(`codes over HTTP: ${title}`, () => {
    const rejectionLab = new RejectionLab(options);
    before(() => rejectionLab.start());
    after(() => rejectionLab.stop());

    for (const { code, status, cases } of tables) {
      for (const [name, field, request] of cases) {
        it(`${code}: ${name}`, async () => {
          const before = await rejectionLab.stored();
          const answer = await rejectionLab.ask(request);
          const rejections = answer.body['rejections'] as { code: string; field: string; doc: string }[];
          const found = rejections?.map(rejection => [rejection.code, rejection.field]);

          expect(found, answer.text).to.deep.equal([[code, field]]);
          expect(answer.status).to.equal(status);
          expect(answer.body['doc']).to.equal(`${rejectionLab.lab.server.url}/docs/codes/${code}`);
          expect(await rejectionLab.stored()).to.equal(before);
        });
      }
    }
  });
}
