import { keys } from '../../crds/keys/index.js';
import type { StoredNode } from '../../crds/node/index.js';
import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { Keyring } from '../auth/index.js';
import { seededRandom } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { EventLeases, EventWriter } from '../events/index.js';
import { silentLogger } from '../log/index.js';
import {
  createRegistryCredentials,
  EmbeddedSecretStore,
  SecretKeyring,
  toCredentialPath,
  toSecretDocument,
} from '../secrets/index.js';
import { encode, MemoryStore, value, WatchCache } from '../store/index.js';
import { defineDispatcherIndexes } from './dispatcher-env.js';
import { LocalLink } from './local-link.testing.js';
import type { AssignmentLine, NodePolicy } from './agent-link.js';
import { AgentDispatcher } from './agent-dispatcher.js';
import { Tickets } from './tickets.js';

export const LAB_TENANT = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff';
const run = { id: 'f'.repeat(16), ended: [] };
export const LAB_NODE = { tenant: LAB_TENANT, id: 'node_1', name: 'n1', run } as const;

/** A control plane in memory with one enrolled node, on a clock that the test moves. */
export class DispatcherLab {
  readonly clock = new ManualClock();
  readonly store = new MemoryStore({ clock: this.clock });
  readonly cache = new WatchCache({ store: this.store, clock: this.clock, log: silentLogger });
  readonly secrets = new EmbeddedSecretStore({
    store: this.store,
    keyring: new SecretKeyring([Buffer.alloc(32, 1)]),
    random: seededRandom(2),
    granted: ['deployments', 'registries'],
  });
  readonly keyring = new Keyring([Buffer.alloc(32, 2)]);
  readonly tickets = new Tickets({
    keyring: this.keyring,
    clock: this.clock,
    random: seededRandom(3),
  });
  /** Set before an agent starts. */
  nodePolicy: NodePolicy | undefined;
  readonly dispatcher: AgentDispatcher;
  readonly #end = new AbortController();

  constructor() {
    defineDispatcherIndexes(this.cache);
    const readPolicy = () => this.nodePolicy;
    this.dispatcher = new AgentDispatcher({
      get nodePolicy() {
        return readPolicy();
      },
      store: this.store,
      cache: this.cache,
      events: new EventWriter(new EventLeases(this.store, this.clock, 7), this.clock, seededRandom(1)),
      clock: this.clock,
      log: silentLogger,
      keyring: this.keyring,
      failedAfterSeconds: 30,
      delivery: {
        secrets: this.secrets,
        tickets: this.tickets,
        registries: { credentials: createRegistryCredentials(this.secrets), defaultRegistry: '' },
      },
    });
  }

  async start(): Promise<this> {
    void this.cache.run(this.#end.signal);
    await this.put(keys.node(LAB_TENANT, LAB_NODE.name), nodeRecord);
    return this;
  }

  stop(): void {
    this.#end.abort();
    this.dispatcher.close();
  }

  /** A link of the node, whose enrolment always succeeds. */
  link(): LocalLink {
    const reply = () =>
      Promise.resolve({
        node: LAB_NODE,
        token: 'token',
        expiresAt: new Date(this.clock.now() + 86_400_000).toISOString(),
      });
    return new LocalLink(this.dispatcher, {
      enrol: reply,
      renew: reply,
      identify: token => (token === 'token' ? LAB_NODE : undefined),
    });
  }

  /** Writes a document whatever stood there, and waits until the cache shows it. */
  async put(key: string, document: unknown): Promise<void> {
    const at = (await this.store.get(key))?.revision ?? 0;
    const verdict = await this.store.commit({
      guards: [{ key, at }],
      puts: [{ key, bytes: encode(document) }],
      deletes: [],
    });
    if (verdict.stored) await this.cache.reached(verdict.revision);
  }

  async delete(key: string): Promise<void> {
    const at = (await this.store.get(key))?.revision ?? 0;
    await this.store.commit({ guards: [{ key, at }], puts: [], deletes: [key] });
    await this.cache.barrier();
  }

  async assign(replica: Replica): Promise<void> {
    await this.put(keys.replica(replica.tenant, replica.deployment, replica.slot), replica);
  }

  /** Writes the next version of `<namespace>/<label>`. */
  async keep(label: string, values: Readonly<Record<string, string>>, namespace = 'deployments'): Promise<void> {
    const path = toCredentialPath(LAB_TENANT, `${namespace}/${label}`);
    const state = await this.secrets.state(path);
    const after = state.kind === 'found' ? state.state.last : 0;
    await this.secrets.write(path, { document: toSecretDocument(values), after, as: 'current' });
  }

  report(uid: string): Report | undefined {
    const entry = this.cache.get(keys.report(LAB_TENANT, LAB_NODE.id, uid));
    return entry && value<Report>(entry);
  }
}

export const nodeRecord: StoredNode = {
  metadata: {
    tenant: LAB_TENANT,
    uid: LAB_NODE.id,
    generation: 1,
    createdAt: '2030-01-01T00:00:00.000Z',
    updatedAt: '2030-01-01T00:00:00.000Z',
    specHash: '',
  },
  id: LAB_NODE.id,
  name: LAB_NODE.name,
  labels: {},
  capacity: { cpu: 8000, memory: 16 * 2 ** 30, disk: 0 },
  publicKey: '',
  controlPlane: false,
  agentVersion: 'test',
};

/** A line without what is another each time: the place in the history of the store, and tickets for logins. */
export function withoutStore(line: AssignmentLine): object {
  const { store: _, pullTickets: _all, pullTicket: _one, ...rest } = line as Record<string, unknown>;
  return rest;
}

/** A replica that is wanted on the node. */
export function replica(change: Partial<Replica> = {}): Replica {
  return {
    uid: 'rep_1',
    tenant: LAB_TENANT,
    deployment: 'web',
    deploymentUid: 'dep_1',
    slot: 0,
    generation: 1,
    templateHash: 'hash',
    template: { image: 'registry.test/web:1', secretsVersion: 0 },
    nodeId: LAB_NODE.id,
    createdAt: '2030-01-01T00:00:00.000Z',
    ...change,
  };
}

/** The same with secrets, resolved in their first version. */
export function secretReplica(change: Partial<Replica> = {}): Replica {
  return replica({
    template: {
      image: 'registry.test/web:1',
      secrets: [{ name: 'DB', vault_path: 'deployments/web-db' }],
      composedSecrets: { URL: 'db://{{secret.web-db.user}}:{{secret.web-db.password}}@db' },
      secretsVersion: 0,
    },
    resolved: { versions: { 'deployments/web-db': 1 }, at: '2030-01-01T00:00:00.000Z' },
    ...change,
  });
}
