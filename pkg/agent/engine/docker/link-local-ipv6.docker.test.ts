import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readlinkSync } from 'node:fs';

import { expect } from 'chai';

import { until } from '../../../../dev/testing/index.js';
import { LinkLocalBarrier } from './link-local.js';

/** Connects, and says how that ended. A drop is silence: so long nothing on one machine takes. */
const CONNECT = `
  const [host, port] = process.argv.slice(1);
  const socket = require('node:net').connect({ host, port });
  const end = how => { console.log(how); process.exit(); };
  socket.once('connect', () => end('open')).once('error', error => end(error.code));
  setTimeout(() => end('silence'), 3000);
`;
const LISTEN = `require('node:net').createServer(socket => socket.end()).listen(7777, '::', () => console.log('up'))`;

/** A network namespace that lives as long as its process. */
class Namespace {
  readonly #holder: ChildProcess;

  constructor() {
    this.#holder = spawn('unshare', ['--net', 'sleep', '600'], { stdio: 'ignore' });
  }

  get pid(): string {
    return String(this.#holder.pid);
  }

  run(program: string, ...words: readonly string[]): string {
    return execFileSync('nsenter', ['--target', this.pid, '--net', program, ...words], {
      encoding: 'utf8',
      stdio: 'pipe',
      timeout: 60_000,
    });
  }

  start(program: string, ...words: readonly string[]): ChildProcess {
    return spawn('nsenter', ['--target', this.pid, '--net', program, ...words], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  }

  /** Whether `unshare` has made it: before, its process is still in the namespace of the test. */
  isReady(): boolean {
    return readlinkSync(`/proc/${this.pid}/ns/net`) !== readlinkSync('/proc/self/ns/net');
  }

  end(): void {
    this.#holder.kill('SIGKILL');
  }
}

function findObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'run it as root';
  try {
    execFileSync('unshare', ['--net', 'ip6tables', '--table', 'raw', '--list'], { stdio: 'ignore' });
    const script = 'ip link add moor-t type bridge && ip link add t0 type veth peer name t1 && ip link set moor-t up';
    execFileSync('unshare', ['--net', 'sh', '-c', script], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'install iproute2, util-linux and ip6tables, on a kernel with bridges and IPv6';
  }
}

const obstacle = findObstacle();
const title = 'drops what a container sends to fe80::/10 over IPv6, and nothing else';

describe('the link-local barrier in a network namespace', () => {
  if (obstacle !== undefined) {
    it.skip(`${title} (${obstacle})`);
    return;
  }

  const machine = new Namespace();
  const container = new Namespace();
  let server: ChildProcess | undefined;
  before(async () => {
    for (const each of [machine, container]) await until('a namespace', () => each.isReady());
    machine.run('ip', 'link', 'add', 'moor-t', 'type', 'bridge');
    machine.run('ip', 'link', 'add', 'out', 'type', 'veth', 'peer', 'name', 'eth0');
    machine.run('ip', 'link', 'set', 'eth0', 'netns', container.pid);
    machine.run('ip', 'link', 'set', 'out', 'master', 'moor-t');
    for (const link of ['moor-t', 'out']) machine.run('ip', 'link', 'set', link, 'up');
    machine.run('ip', '-6', 'address', 'add', 'fd00::1/64', 'dev', 'moor-t', 'nodad');
    container.run('ip', '-6', 'address', 'add', 'fd00::2/64', 'dev', 'eth0', 'nodad');
    container.run('ip', 'link', 'set', 'eth0', 'up');
    server = machine.start(process.execPath, '-e', LISTEN);
    await new Promise(resolve => server?.stdout?.once('data', resolve));
  });
  after(() => {
    server?.kill('SIGKILL');
    for (const each of [machine, container]) each.end();
  });

  const reach = (host: string) => container.run(process.execPath, '-e', CONNECT, host, '7777').trim();
  const findLinkLocal = () => {
    const shown = machine.run('ip', '-6', 'address', 'show', 'dev', 'moor-t', 'scope', 'link');
    return /tentative/.test(shown) ? undefined : /fe80:[0-9a-f:]+/.exec(shown)?.[0];
  };

  it(title, async () => {
    const address = `${await until('a link-local address', findLinkLocal)}%eth0`;
    await until('the container to reach the machine', () => reach(address) === 'open');
    expect(reach('fd00::1')).to.equal('open');

    const barrier = new LinkLocalBarrier(true, async (program, words) => machine.run(program, ...words));
    await barrier.block('moor-t');
    await barrier.block('moor-t');

    expect(barrier.isBlocked).to.equal(true);
    expect([reach(address), reach('fd00::1')]).to.deep.equal(['silence', 'open']);
    const rules = machine.run('ip6tables', '--table', 'raw', '--list-rules', 'PREROUTING');
    expect(rules.split('\n').filter(rule => rule.includes('fe80::/10'))).to.have.length(1);
  });
});
