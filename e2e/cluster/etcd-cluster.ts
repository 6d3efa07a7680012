import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { findFreePort } from '../../dev/processes/index.js';
import { type CertificateFiles, CertificateFolder } from '../../pkg/certificates/index.js';
import { EtcdMember } from './etcd-member.js';
import { Gateway, type MemberStatus, type RawEvent } from './gateway.js';
import { LoopbackNetwork, type MemberNetwork, NamespaceNetwork, explainNoNamespaces } from './network.js';
import { pollUntil } from './poll-until.js';
import { etcdctl } from './tools.js';

export interface EtcdClusterOptions {
  readonly members?: number;
  /** Further arguments of etcd. */
  readonly arguments?: readonly string[];
  /** The program; a newer one than the system's can be named by MOORING_ETCD_BIN. */
  readonly program?: string;
}

/** An alarm as the gateway tells it. */
interface Alarm {
  readonly memberID: string;
  readonly alarm: string;
}

/** A leader keeps little of its log, so that a snapshot is needed soon; the quota can be reached in a moment. */
export const TEST_ETCD_ARGUMENTS = ['--snapshot-count=100', `--quota-backend-bytes=${32 << 20}`];

const SERVES_WITHIN_MS = 30_000;
const TOKEN = 'mooring-test';

/** Real etcd members with TLS and client certificates, and everything that can happen to them. */
export class EtcdCluster {
  readonly folder: string;
  /** What clients of the cluster show and trust. */
  readonly certificates: CertificateFiles;
  readonly gateway: Gateway;
  readonly network: MemberNetwork;
  readonly #options: EtcdClusterOptions;
  readonly #members: readonly EtcdMember[];
  readonly #server: CertificateFiles;
  readonly #removeFolder = () => rmSync(this.folder, { recursive: true, force: true });

  private constructor(folder: string, network: MemberNetwork, ports: readonly number[], options: EtcdClusterOptions) {
    this.folder = folder;
    this.network = network;
    this.#options = options;
    process.once('exit', this.#removeFolder);
    const authority = new CertificateFolder({ folder, authorityName: 'test authority', now: Date.now });
    this.#server = authority.ensure('etcd', ['127.0.0.1', 'localhost', ...network.addresses], ['server', 'client']);
    this.certificates = authority.ensure('mooring', [], ['client']);
    this.gateway = new Gateway(this.certificates);
    this.#members = network.addresses.map((address, number) => {
      const [clientPort, peerPort] = [ports[2 * number]!, ports[2 * number + 1]!];
      return new EtcdMember({ number, address, clientPort, peerPort, folder });
    });
  }

  static async start(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
    const { members = 3 } = options;
    const network = explainNoNamespaces() === undefined ? new NamespaceNetwork(members) : new LoopbackNetwork(members);
    const folder = mkdtempSync(join(tmpdir(), 'mooring-cluster-'));
    const ports: number[] = [];
    for (let n = 0; n < 2 * members; n++) ports.push(network.canIsolate ? 2379 + (n % 2) : await findFreePort());
    const cluster = new EtcdCluster(folder, network, ports, options);
    try {
      await cluster.startAll();
    } catch (thrown) {
      await cluster.stop();
      throw thrown;
    }
    return cluster;
  }

  get size(): number {
    return this.#members.length;
  }

  get endpoints(): readonly string[] {
    return this.#members.map(({ clientUrl }) => clientUrl);
  }

  /** Where a proxy reaches a member. */
  target(member: number): { readonly host: string; readonly port: number } {
    const { address: host, clientPort: port } = this.#members[member]!;
    return { host, port };
  }

  logFile(member: number): string {
    return this.#members[member]!.logFile;
  }

  /** The number of the leader, as soon as a majority of those that answer agree on one. */
  async leader(withinMs = SERVES_WITHIN_MS): Promise<number> {
    return pollUntil('a leader', withinMs, async () => {
      const all = await Promise.all(this.endpoints.map(endpoint => this.#statusOf(endpoint)));
      const votes = all.filter(status => status !== undefined).map(({ leaderId }) => leaderId);
      const leader = all.findIndex(
        status => status && votes.filter(vote => vote === status.memberId).length > this.size / 2,
      );
      return leader < 0 ? undefined : leader;
    });
  }

  async follower(): Promise<number> {
    return ((await this.leader()) + 1) % this.size;
  }

  status(member: number): Promise<MemberStatus> {
    return this.gateway.status(this.endpoints[member]!);
  }

  /** Starts the members that do not run, and waits until all serve. */
  async startAll(): Promise<void> {
    this.#members.forEach((_, member) => this.launch(member));
    await Promise.all(this.#members.map((_, member) => this.untilServing(member)));
  }

  /** Starts a member that does not run, on its data, without waiting for it. */
  launch(member: number): void {
    const own = this.#members[member]!;
    if (own.isRunning) return;
    const { program = process.env['MOORING_ETCD_BIN'] ?? 'etcd', arguments: further = [] } = this.#options;
    own.launch([...this.network.commandPrefix(member), program, ...this.#argumentsOf(own), ...further]);
  }

  async untilServing(member: number, withinMs = SERVES_WITHIN_MS): Promise<void> {
    const own = this.#members[member]!;
    const { clientUrl, name, logFile } = own;
    await pollUntil(`${name} to serve, see ${logFile}`, withinMs, async () => {
      if (!own.isRunning) throw new Error(`${name} ended while starting; see ${logFile}`);
      return (await this.gateway.isHealthy(clientUrl)) || undefined;
    });
  }

  /** Waits until one member serves, which it can with a majority only: from then on there is a quorum. */
  async untilMajorityServes(): Promise<void> {
    await Promise.any(this.#members.map((_, member) => this.untilServing(member)));
  }

  async kill(member: number, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    await this.#members[member]!.kill(signal);
  }

  async restart(member: number, signal: 'SIGKILL' | 'SIGTERM' = 'SIGTERM'): Promise<void> {
    await this.kill(member, signal);
    this.launch(member);
    await this.untilServing(member);
  }

  /** Freezes a member: it keeps its connections and answers nothing. */
  freeze(member: number): void {
    this.#members[member]!.freeze();
  }

  thaw(member: number): void {
    this.#members[member]!.thaw();
  }

  /** Every fsync of a member takes so much longer. */
  async slowDisk(member: number, ms: number): Promise<void> {
    await this.#members[member]!.spoilDisk(`delay_exit=${ms * 1_000}`);
  }

  /** The disk of a member is full: etcd ends by itself, and is started again when there is room (`heal`). */
  async fillDisk(member: number): Promise<void> {
    const own = this.#members[member]!;
    await own.spoilDisk('error=ENOSPC');
    await pollUntil(`${own.name} to end`, SERVES_WITHIN_MS, async () => (own.isRunning ? undefined : true));
    await own.repairDisk();
  }

  /** The file system of a member is really full: etcd ends by itself, and is started again when there is room (`heal`). */
  async fillFileSystem(member: number): Promise<void> {
    const own = this.#members[member]!;
    await this.kill(member);
    own.moveToSmallDisk();
    this.launch(member);
    await this.untilServing(member);
    own.fillSmallDisk();
    await pollUntil(`${own.name} to end`, SERVES_WITHIN_MS, async () => (own.isRunning ? undefined : true));
    own.leaveSmallDisk();
  }

  /** Undoes every fault and waits until all members serve. */
  async heal(): Promise<void> {
    for (const [member, own] of this.#members.entries()) {
      this.thaw(member);
      this.network.heal(member);
      await own.repairDisk();
      if (!own.isRunning) own.leaveSmallDisk();
    }
    await this.startAll();
  }

  /** Forgets history before `revision`, as an operator's compaction does. */
  async compact(revision: number, member = 0): Promise<void> {
    const body = { revision: String(revision), physical: true };
    await this.gateway.call(this.endpoints[member]!, 'kv/compaction', body);
  }

  async defragment(member: number): Promise<void> {
    await this.gateway.call(this.endpoints[member]!, 'maintenance/defragment', {});
  }

  /** The alarms that are raised. */
  async alarms(member = 0): Promise<readonly Alarm[]> {
    const answer = (await this.gateway.call(this.endpoints[member]!, 'maintenance/alarm', { action: 'GET' })) as {
      readonly alarms?: readonly Alarm[];
    };
    return answer.alarms ?? [];
  }

  async disarm(member = 0): Promise<void> {
    for (const alarm of await this.alarms(member))
      await this.gateway.call(this.endpoints[member]!, 'maintenance/alarm', { action: 'DEACTIVATE', ...alarm });
  }

  saveSnapshot(file: string, member = 0): void {
    const { ca, cert, key } = this.certificates;
    const connection = [`--endpoints=${this.endpoints[member]}`, `--cacert=${ca}`, `--cert=${cert}`, `--key=${key}`];
    etcdctl(...connection, 'snapshot', 'save', file);
  }

  /** Stops all members, puts a snapshot in place of their data, and starts them. The revision goes back with it. */
  async restoreSnapshot(file: string): Promise<void> {
    await Promise.all(this.#members.map((_, member) => this.kill(member)));
    for (const { name, dataDir, peerUrl } of this.#members) {
      rmSync(dataDir, { recursive: true, force: true });
      const cluster = [`--initial-cluster=${this.#initialCluster()}`, `--initial-cluster-token=${TOKEN}`];
      const own = [`--name=${name}`, `--data-dir=${dataDir}`, `--initial-advertise-peer-urls=${peerUrl}`];
      etcdctl('snapshot', 'restore', file, ...own, ...cluster);
    }
    await this.startAll();
  }

  /** Everything that was stored below `prefix` after a revision, from etcd itself. */
  events(prefix: string, after: number, member = 0): Promise<readonly RawEvent[]> {
    return this.gateway.events(this.endpoints[member]!, prefix, after);
  }

  /** Makes so many entries of raft's log, quickly: small puts outside of what is being watched. */
  async fillLog(entries: number, member: number): Promise<void> {
    let left = entries;
    const writer = async () => {
      while (left-- > 0) await this.gateway.put(this.endpoints[member]!, '/filler', String(left), 10_000);
    };
    await Promise.all(Array.from({ length: 48 }, writer));
  }

  /** Writes until etcd raises its alarm, past our own code, as anybody with access could. */
  async fillDatabase(member: number): Promise<void> {
    const value = 'x'.repeat(256 << 10);
    for (let n = 0; (await this.alarms(member)).length === 0; n++) {
      if (n === 1_000) throw new Error('the quota is never reached');
      await this.gateway.put(this.endpoints[member]!, `/filler/${n % 2}`, value).catch(() => undefined);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map((_, member) => this.kill(member)));
    for (const own of this.#members) own.leaveSmallDisk();
    this.gateway.close();
    this.network.remove();
    process.off('exit', this.#removeFolder);
    this.#removeFolder();
  }

  #statusOf(endpoint: string): Promise<MemberStatus | undefined> {
    return this.gateway.status(endpoint, 500).catch(() => undefined);
  }

  #initialCluster(): string {
    return this.#members.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join();
  }

  #argumentsOf({ name, clientUrl, peerUrl, dataDir }: EtcdMember): readonly string[] {
    const { ca, cert, key } = this.#server;
    return [
      `--name=${name}`,
      `--data-dir=${dataDir}`,
      `--listen-client-urls=${clientUrl}`,
      `--advertise-client-urls=${clientUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=${this.#initialCluster()}`,
      `--initial-cluster-token=${TOKEN}`,
      `--trusted-ca-file=${ca}`,
      `--cert-file=${cert}`,
      `--key-file=${key}`,
      '--client-cert-auth',
      `--peer-trusted-ca-file=${ca}`,
      `--peer-cert-file=${cert}`,
      `--peer-key-file=${key}`,
      '--peer-client-cert-auth',
    ];
  }
}
