import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { toScriptArguments } from '../../dev/testing/index.js';

/** In a group of its own, as `sh hack/sandbox.sh` and make have one: two children, one of which stands still already. */
const SCRIPT = `
import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
const [stallUrl, statUrl] = process.argv.slice(1);
const { stall } = await import(stallUrl);
const { readStat } = await import(statUrl);
const children = [1, 2].map(() => spawn('sleep', ['60']));
const states = () => children.map(({ pid }) => readStat(pid)[0]).join('');
const reach = async wanted => { for (let look = 0; states() !== wanted; look++) { if (look > 20_000) process.exit(1); await pause(5); } };
await reach('SS');
children[1].kill('SIGSTOP');
await reach('ST');
const stop = stall(3_600_000);
await reach('TT');
stop();
await reach('ST');
console.log(states());
for (const child of children) child.kill('SIGKILL');
`;

describe('a stall', () => {
  it('has the processes of our group stand still, and go on but for what a test has stopped itself', async () => {
    const urls = ['./stall.js', '../../up/machine/process-stat.js'].map(path => new URL(path, import.meta.url).href);
    const argv = toScriptArguments(SCRIPT, ...urls);
    // A group of its own: what is stalled must not be what runs this test.
    const { stdout } = await promisify(execFile)('setsid', ['--wait', process.execPath, ...argv]);
    expect(stdout).to.equal('ST\n');
  });
});
