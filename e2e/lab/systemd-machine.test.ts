import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';

import { expect } from 'chai';

import { skip } from '../../dev/testing/index.js';
import { explainNoMachine, SystemdMachine } from './systemd-machine.js';

const missing = explainNoMachine();

describe('a machine that systemd boots', () => {
  it('says why it does not boot once it has ended, and leaves nothing', async function () {
    if (missing) skip(this, missing);
    const machine = new SystemdMachine('n'.repeat(65)); // longer than the kernel lets a machine be called
    const failure: unknown = await machine.start().catch((error: unknown) => error);
    await machine.stop();
    expect(String(failure)).to.match(/did not boot: .*hostname/);
    expect(readdirSync(tmpdir()).filter(name => name.startsWith(`mooring-machine-${process.pid}-n`))).to.deep.equal([]);
  });
});
