import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { seededRandom } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { parseAgentRun } from '../../link/index.js';
import { silentLogger } from '../../log/index.js';
import { createMemoryDisk } from '../disk.js';
import { NodeHold } from './node-hold.js';
import { type ProcessTable, readProcessTable } from '../process-table.js';

describe('the runs that an agent names', () => {
  const files = new Map<string, string>();
  let seed = 0;
  const begin = (processes?: ProcessTable, text = files) =>
    NodeHold.begin({
      clock: new ManualClock(),
      random: seededRandom(++seed),
      disk: createMemoryDisk(text),
      log: silentLogger,
      processes,
    });
  const table = (boot: string, self: string, ...running: string[]): ProcessTable => ({
    boot,
    self,
    isRunning: name => running.includes(name),
  });
  const named = (hold: NodeHold) => parseAgentRun(hold.header)!;

  beforeEach(() => files.clear());

  it('are those that stopped by themselves', async () => {
    const first = await begin();
    expect(named(first).ended).to.deep.equal([]);
    await first.end();

    expect(named(await begin()).ended).to.deep.equal([named(first).id]);
  });

  it('are those of this boot whose process has ended', async () => {
    const first = await begin(table('boot-1', '7:100'));
    const second = await begin(table('boot-1', '8:200'));
    expect(named(second).ended).to.deep.equal([named(first).id]);

    const third = await begin(table('boot-1', '9:300', '8:200'));
    expect(named(third).ended, 'the second one still runs').to.deep.equal([named(first).id]);
  });

  it('are none after a boot that came without a stop, as on a copy of the machine', async () => {
    const first = await begin(table('boot-1', '7:100'));
    expect(named(await begin(table('boot-2', '7:100'))).ended).to.deep.equal([]);
    expect(named(await begin(undefined)).ended, 'nothing is known of processes').to.deep.equal([]);
    expect(named(await begin(table('boot-1', '9:1'))).ended).to.include(named(first).id);
  });

  it('are at most eight, and none where the file cannot be read', async () => {
    for (let turn = 0; turn < 12; turn++) await (await begin()).end();
    expect(named(await begin()).ended).to.have.length(8);
    for (const text of ['{', 'null', '[{"id":"../x"}]', '[null]']) {
      expect(named(await begin(undefined, new Map([['runs.json', text]]))).ended, text).to.deep.equal([]);
    }
  });
});

describe('the processes of a machine', () => {
  let proc: string;
  beforeEach(() => {
    proc = mkdtempSync(join(tmpdir(), 'mooring-proc-'));
    mkdirSync(join(proc, 'sys/kernel/random'), { recursive: true });
    writeFileSync(join(proc, 'sys/kernel/random/boot_id'), 'a-boot\n');
  });
  afterEach(() => rmSync(proc, { recursive: true, force: true }));
  const add = (pid: number, state: string, startedAt: number) => {
    mkdirSync(join(proc, String(pid)), { recursive: true });
    const rest = Array.from({ length: 18 }, () => '0').join(' ');
    writeFileSync(join(proc, String(pid), 'stat'), `${pid} (a ) b) ${state} ${rest} ${startedAt} 0 0\n`);
  };

  it('are told apart by their start, and one that was killed does not run', () => {
    add(process.pid, 'S', 55);
    add(41, 'S', 100);
    add(42, 'Z', 100);
    const table = readProcessTable(proc)!;

    expect([table.boot, table.self]).to.deep.equal(['a-boot', `${process.pid}:55`]);
    const running = ['41:100', '41:99', '42:100', '43:100', '', '../41:100'].map(name => table.isRunning(name));
    expect(running).to.deep.equal([true, false, false, false, false, false]);
  });

  it('are unknown where there is no /proc, and known on this machine where there is', () => {
    expect(readProcessTable(join(proc, 'none'))).to.equal(undefined);
    const own = readProcessTable();
    if (own) expect(own.isRunning(own.self)).to.equal(true);
  });
});
