import { randomBytes } from 'node:crypto';

import { expect } from 'chai';

import { findFreePort, pushImage, readBusybox } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { createTestTerminal } from '../../pkg/terminal/terminal.testing.js';
import { run } from '../../pkg/cli/run.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { SlowLine } from '../lab/slow-line.js';
import { TenantClient } from '../lab/tenant-client.js';

const SIZE = 8 * 2 ** 20;
const PULLING = /0:pulling\/none ([\d.]+[KM]iB) of [\d.]+MiB \((\d+) %\)/;

describe('an image that takes long to pull', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let line: SlowLine;
  let image: string;

  before(async () => {
    const port = await findFreePort();
    plane = await ControlPlane.start({ MOORING_REGISTRY_INSECURE: `127.0.0.1:${port}` });
    fleet = await Fleet.start(plane);
    const pushed = await pushImage(fleet.registry.address, {
      name: 'mooring/big',
      tag: '1',
      entries: [
        { path: 'bin/', mode: 0o755, folder: true },
        { path: 'bin/busybox', mode: 0o755, bytes: await readBusybox() },
        { path: 'ballast', mode: 0o644, bytes: randomBytes(SIZE) },
      ],
      config: { Cmd: ['/bin/busybox', 'sleep', '1000'] },
    });
    line = new SlowLine(plane.registryPort);
    await line.listen(port);
    image = pushed.replace(fleet.registry.address, `127.0.0.1:${port}`);
  });
  after(async () => {
    line?.stop();
    await fleet?.stop();
    await plane?.stop();
  });

  it('is followed by moor status with its bytes, as the engine tells them, until the container runs', async () => {
    const shop = await TenantClient.open(plane, 'shop');
    await fleet.enrol(shop.client, 'shop-1');
    await shop.apply({ name: 'big', image });
    const terminal = createTestTerminal({ MOORING_SERVER: plane.server, MOORING_TOKEN: shop.token });
    const ended = run(['status', 'big', '--until-ready', '--timeout', '240s'], terminal);
    await until('two amounts to be told', async () => {
      const told = [...terminal.printed.out.matchAll(new RegExp(PULLING, 'g'))].map(([, , percent]) => Number(percent));
      return new Set(told).size > 1;
    });
    line.isFast = true;
    expect(await ended).to.equal(0);
    const told = [...terminal.printed.out.matchAll(new RegExp(PULLING, 'g'))].map(([, , percent]) => Number(percent));
    expect(told, 'it never goes back').to.deep.equal(told.toSorted((a, b) => a - b));
    expect(told.every(percent => percent <= 100)).to.equal(true);
    expect(terminal.printed.out.trimEnd().split('\n').at(-1)).to.match(/Running +1\/1 ready/);
    const { status } = await shop.show('big');
    expect(status?.placements.map(({ pull }) => pull)).to.deep.equal([undefined]);
  });
});
