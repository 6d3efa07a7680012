import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

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

  it('says that it ended, or could not be run', async () => {
    const limits = { withinMs: 60_000, logFile };
    const ended = await refusal(awaitServing(run('exit 3'), async () => false, limits));
    expect(String(ended)).to.include('sh ended while starting');
    const absent = runProgram(join(folder, 'absent'), [], { logFile, detached: false });
    expect(String(await refusal(awaitServing(absent, async () => false, limits)))).to.include('is it installed?');
  });
});
