import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { toScriptArguments, until } from '../../dev/testing/index.js';
import { readStat } from '../machine/process-stat.js';
import { ProcessStartFault } from './faults.js';
import { awaitServing, endProgram, hasEnded, runProgram } from './program.js';

describe('a program that is waited for', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-program-'));
  const logFile = join(folder, 'log');
  after(() => rmSync(folder, { recursive: true }));

  const run = (...words: string[]) => runProgram('sh', ['-c', ...words], { logFile, detached: false });
  const refusal = (promise: Promise<void>): Promise<unknown> => promise.catch((thrown: unknown) => thrown);

  it('is awaited until it serves, and goes on', async () => {
    const made = join(folder, 'made');
    const child = run('touch "$0"; exec sleep 600', made);
    await awaitServing(child, async () => existsSync(made), { withinMs: 60_000, logFile });
    expect(hasEnded(child)).to.equal(false);
    await endProgram(child, 'SIGKILL');
  });

  it('is ended when it does not serve in time: nobody holds it', async () => {
    const child = run('exec sleep 600');
    const thrown = await refusal(awaitServing(child, async () => false, { withinMs: 0, logFile }));
    expect(thrown).to.be.instanceOf(ProcessStartFault);
    expect(String(thrown)).to.include(`sh does not serve; see ${logFile}`);
    expect(child.signalCode).to.equal('SIGKILL');
  });

  it('is ended when the question whether it serves fails', async () => {
    const child = run('exec sleep 600');
    const fails = () => Promise.reject(new Error('no answer'));
    expect(String(await refusal(awaitServing(child, fails, { withinMs: 60_000, logFile })))).to.include('no answer');
    expect(child.signalCode).to.equal('SIGKILL');
  });

  it('ends with the process that ran it, frozen or not, and otherwise outlives it', async () => {
    const script = `
      const { runProgram } = await import(process.argv[1]);
      const run = endsWithUs => runProgram('sleep', ['600'], { logFile: process.argv[2], detached: !endsWithUs, endsWithUs });
      const [first, second, third] = [run(true), run(true), run(false)];
      second.kill('SIGSTOP');
      console.log([first, second, third].map(({ pid }) => pid).join(' '));
      process.exit();
    `;
    const argv = toScriptArguments(script, new URL('./program.js', import.meta.url).href, logFile);
    const { stdout } = await promisify(execFile)(process.execPath, argv);
    const [first = 0, second = 0, third = 0] = stdout.split(' ').map(Number);
    const isGone = (pid: number) => ['', 'Z'].includes(readStat(pid)[0] ?? '');
    await until('both to be gone', async () => isGone(first) && isGone(second));
    expect(isGone(third)).to.equal(false);
    process.kill(third, 'SIGKILL');
  });

  it('hears of its end while it is frozen', async () => {
    const child = run('exec sleep 600');
    child.kill('SIGSTOP');
    await endProgram(child, 'SIGTERM');
    expect(child.signalCode).to.equal('SIGTERM');
  });

  it('says that it ended, or could not be run', async () => {
    const limits = { withinMs: 60_000, logFile };
    const ended = await refusal(awaitServing(run('exit 3'), async () => false, limits));
    expect(String(ended)).to.include('sh ended while starting');
    const absent = runProgram(join(folder, 'absent'), [], { logFile, detached: false });
    expect(String(await refusal(awaitServing(absent, async () => false, limits)))).to.include('is it installed?');
  });
});
