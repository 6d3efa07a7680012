import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { ranges } from '../../crds/keys/index.js';
import { skip, until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';
import { WallClock } from '../lab/wall-clock.js';

const HOUR = 3600;
/** Long enough for every loop to have looked at its leases and nodes with the new time. */
const LOOKS_MS = 6_000;

describe('a wall clock that jumps', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let machine: EnrolledMachine;
  const clocks = new Map<string, WallClock>();

  before(async function () {
    if (!WallClock.isPossible) {
      skip(this, 'there is no libfaketime here (apt-get install faketime)');
    }
    plane = await ControlPlane.start({ MOORING_NODE_FAILED_AFTER_SECONDS: '30' });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    machine = await fleet.enrol(shop.client, 'shop-1');
    const parts = { 'API server': plane.api, controllers: plane.controllers, agent: machine.agent };
    for (const [name, child] of Object.entries(parts)) {
      const clock = new WallClock(join(plane.folder, `clock-${child.pid}`));
      clocks.set(name, clock);
      await child.restart('SIGTERM', undefined, clock.environment);
    }
    await plane.serving();
    await shop.apply({ name: 'web', image: await fleet.image('1'), replicas: 2 });
    await shop.reaches('web', 'Running');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  /** What runs, and since when: unchanged means that nothing restarted it. */
  const standing = async () => {
    const running = await fleet.view.running('web');
    const since = await Promise.all(running.map(async ({ id }) => `${id} ${await fleet.view.startedAt(id)}`));
    return since.sort();
  };

  /** The term of each leader: one that was lost in between is another one. */
  const terms = async () => {
    const store = plane.openStore();
    try {
      const { entries } = await store.list(ranges.leaders);
      return entries.map(({ key, created }) => `${key} ${created}`);
    } finally {
      await store.close();
    }
  };

  const listWarnings = async () => {
    const { items } = unwrap(await shop.client.all<StoredEvent>('/api/v1/events'));
    return items.filter(({ severity }) => severity === 'warning').map(({ type, message }) => `${type}: ${message}`);
  };

  /** Whether what the process has written last is of the time that its clock was set to, within half an hour. */
  const seesTime = async (file: string, seconds: number) => {
    const last = (await readFile(file, 'utf8')).trimEnd().split('\n').at(-1)!;
    const { time } = JSON.parse(last) as { time: string };
    return Math.abs(Date.parse(time) - Date.now() - seconds * 1000) < HOUR * 500;
  };

  for (const part of ['API server', 'controllers', 'agent']) {
    it(`of the ${part}, an hour ahead, two hours back and to the right time, restarts nothing, and no node and no leader is lost`, async () => {
      const logs: Readonly<Record<string, string>> = {
        'API server': join(plane.folder, 'api.log'),
        controllers: join(plane.folder, 'controllers.log'),
        agent: `${fleet.folder('shop-1')}.log`,
      };
      const [containers, led, warnings] = [await standing(), await terms(), await listWarnings()];
      for (const seconds of [HOUR, -HOUR, 0]) {
        clocks.get(part)!.set(seconds);
        await pause(LOOKS_MS);
        await shop.change('web', { replicas: 3 });
        await shop.reaches('web', 'Running');
        await until('its new time in its log', () => seesTime(logs[part]!, seconds));
        expect(await standing()).to.include.members(containers);
        await shop.change('web', { replicas: 2 });
        await shop.reaches('web', 'Running');
        await until('the third to be gone', async () => (await fleet.view.containers()).length === 2);
      }
      expect(await standing()).to.deep.equal(containers);
      expect(await terms()).to.deep.equal(led);
      expect(await listWarnings()).to.deep.equal(warnings);
    });
  }
});
