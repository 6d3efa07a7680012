import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The addresses of the members of a cluster, and the faults that the network between them can have. */
export interface MemberNetwork {
  /** One for each member, reachable from this process. */
  readonly addresses: readonly string[];
  /** False where members cannot be cut off from each other: then those tests are skipped by name. */
  readonly canIsolate: boolean;
  /** The words before the command that runs a member. */
  commandPrefix(member: number): readonly string[];
  /**
   * Drops every packet between a member and the other members; with `clients`, those of this process too. With `way`, only
   * what it is sent (`in`) or what it sends (`out`).
   */
  isolate(member: number, options?: { readonly clients?: boolean; readonly way?: 'in' | 'out' }): void;
  /** Drops every packet from clients to a member (`in`), or from it to them (`out`): the other way they pass. */
  cutClients(member: number, way: 'in' | 'out'): void;
  /** Lets every packet of a member pass again. */
  heal(member: number): void;
  remove(): void;
}

/** Members on loopback: they differ by their ports, and cannot be cut off. */
export class LoopbackNetwork implements MemberNetwork {
  readonly canIsolate = false;
  readonly addresses: readonly string[];

  constructor(members: number) {
    this.addresses = Array.from({ length: members }, () => '127.0.0.1');
  }

  commandPrefix(): readonly string[] {
    return [];
  }

  isolate(): void {
    throw new Error('members on loopback cannot be cut off from each other: run as root, with ip and iptables');
  }

  cutClients(): void {
    this.isolate();
  }

  heal(): void {}

  remove(): void {}
}

/** Names begin with this; the process id follows, so that what a killed run left behind can be told from what is in use. */
const PREFIX = 'mooring-test-';

/** Addresses for benchmarks (RFC 2544): no real network has them. */
const SUBNETS = 250;

function run(program: string, ...argv: readonly string[]): string {
  return execFileSync(program, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function isSubnetUsed(subnet: number): boolean {
  return run('ip', '-4', 'addr', 'show').includes(`198.18.${subnet}.`);
}

/** Ends the namespaces of processes that no longer exist. Their interfaces go with them. */
function removeAbandonedNamespaces(): void {
  for (const name of run('ip', 'netns', 'list').matchAll(new RegExp(`^${PREFIX}(\\d+)-\\S+`, 'gm'))) {
    if (!existsSync(`/proc/${name[1]}`)) run('ip', 'netns', 'delete', name[0]);
  }
}

/** Whether this process may make network namespaces; undefined when it may, otherwise why not. */
export function explainNoNamespaces(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  try {
    const probe = `${PREFIX}${process.pid}-probe`;
    run('ip', 'netns', 'add', probe);
    try {
      run('ip', 'netns', 'exec', probe, 'iptables', '-L');
    } finally {
      run('ip', 'netns', 'delete', probe);
    }
    return undefined;
  } catch (thrown) {
    return `network namespaces cannot be made (${String(thrown).split('\n')[0]})`;
  }
}

let networks = 0;

/**
 * A network namespace for each member, joined by a bridge in a namespace of its own, so that the firewall of the machine
 * has no say. This process reaches them through one interface. A member is cut off by dropping packets in its namespace.
 */
export class NamespaceNetwork implements MemberNetwork {
  readonly canIsolate = true;
  readonly addresses: readonly string[];
  readonly #names: readonly string[];
  readonly #switch: string;
  readonly #clients: string;
  readonly #onExit = () => this.remove();
  #isRemoved = false;

  constructor(members: number) {
    removeAbandonedNamespaces();
    const id = `${process.pid}-${++networks}`;
    let subnet = (process.pid % SUBNETS) + 1;
    while (isSubnetUsed(subnet)) subnet = (subnet % SUBNETS) + 1;
    this.#switch = `${PREFIX}${id}-switch`;
    this.#names = Array.from({ length: members }, (_, member) => `${PREFIX}${id}-${member}`);
    this.addresses = this.#names.map((_, member) => `198.18.${subnet}.${member + 1}`);
    this.#clients = `198.18.${subnet}.254`;
    process.once('exit', this.#onExit);
    try {
      this.#make(subnet);
    } catch (thrown) {
      this.remove();
      throw thrown;
    }
  }

  commandPrefix(member: number): readonly string[] {
    return ['ip', 'netns', 'exec', this.#names[member]!];
  }

  isolate(member: number, { clients = false, way }: { clients?: boolean; way?: 'in' | 'out' } = {}): void {
    const peers = this.addresses.filter((_, other) => other !== member);
    const incoming = clients ? [['-i', 'eth0']] : peers.map(peer => ['-s', peer]);
    const outgoing = clients ? [['-o', 'eth0']] : peers.map(peer => ['-d', peer]);
    if (way !== 'out') for (const rule of incoming) this.#firewall(member, '-A', 'INPUT', ...rule, '-j', 'DROP');
    if (way !== 'in') for (const rule of outgoing) this.#firewall(member, '-A', 'OUTPUT', ...rule, '-j', 'DROP');
  }

  cutClients(member: number, way: 'in' | 'out'): void {
    const rule = way === 'in' ? ['INPUT', '-s', this.#clients] : ['OUTPUT', '-d', this.#clients];
    this.#firewall(member, '-A', ...rule, '-j', 'DROP');
  }

  heal(member: number): void {
    this.#firewall(member, '-F');
  }

  remove(): void {
    if (this.#isRemoved) return;
    this.#isRemoved = true;
    process.off('exit', this.#onExit);
    for (const name of [...this.#names, this.#switch]) {
      try {
        run('ip', 'netns', 'delete', name);
      } catch {
        // It was never made, because making the network failed before it.
      }
    }
  }

  #make(subnet: number): void {
    const near = `mooring${subnet}`;
    run('ip', 'netns', 'add', this.#switch);
    run('ip', '-n', this.#switch, 'link', 'add', 'br0', 'type', 'bridge');
    run('ip', '-n', this.#switch, 'link', 'set', 'br0', 'up');
    run('ip', 'link', 'add', near, 'type', 'veth', 'peer', 'name', 'clients', 'netns', this.#switch);
    run('ip', '-n', this.#switch, 'link', 'set', 'clients', 'master', 'br0', 'up');
    run('ip', 'addr', 'add', `${this.#clients}/24`, 'dev', near);
    run('ip', 'link', 'set', near, 'up');
    this.#names.forEach((name, member) => {
      const far = `member${member}`;
      run('ip', 'netns', 'add', name);
      run('ip', 'link', 'add', 'eth0', 'netns', name, 'type', 'veth', 'peer', 'name', far, 'netns', this.#switch);
      run('ip', '-n', this.#switch, 'link', 'set', far, 'master', 'br0', 'up');
      run('ip', '-n', name, 'addr', 'add', `${this.addresses[member]}/24`, 'dev', 'eth0');
      for (const device of ['eth0', 'lo']) run('ip', '-n', name, 'link', 'set', device, 'up');
    });
  }

  #firewall(member: number, ...argv: readonly string[]): void {
    run('ip', 'netns', 'exec', this.#names[member]!, 'iptables', '-w', ...argv);
  }
}
