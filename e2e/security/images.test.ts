import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { Fleet } from '../lab/fleet.js';
import { TenantClient } from '../lab/tenant-client.js';

const INSIDE = 'credentials-of-an-internal-service';

describe('images that a tenant chooses', () => {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let inside: Server;
  let requests: string[];

  before(async () => {
    // Without the check of the API server, the node is the only one that refuses.
    plane = await ControlPlane.start({ MOORING_REGISTRY_CHECK: 'false' });
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    await fleet.enrol(shop.client, 'shop-1');
    requests = [];
    inside = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ errors: [{ code: 'UNKNOWN', message: INSIDE }] }));
    });
    await new Promise<void>(resolve => inside.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    inside?.close();
    await fleet?.stop();
    await plane?.stop();
  });

  /** What the status says of a deployment that cannot start. */
  const failure = async (name: string, image: string) => {
    await shop.apply({ name, image });
    const { status } = await shop.reaches(name, 'Degraded');
    return status;
  };
  const revision = async () => {
    const store = plane.openStore();
    const now = await store.revision();
    await store.close();
    return now;
  };

  it('do not make the engine of a node read an internal address', async () => {
    const { port } = inside.address() as AddressInfo;
    const status = await failure('inward', `127.0.0.1:${port}/shop/web:1`);
    expect(status?.message).to.contain('private or link-local address');
    expect(requests).to.deep.equal([]);
  });

  it('do not show what an allowed registry responded', async () => {
    await fleet.registry.kill('SIGKILL');
    const allowed = createServer((_request, response) => {
      // Engines quote what is refused with 4xx, and leave out what fails with 5xx.
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ errors: [{ code: 'UNKNOWN', message: INSIDE }] }));
    });
    await new Promise<void>(resolve => allowed.listen(plane.registryPort, '127.0.0.1', resolve));
    const status = await failure('quoting', `127.0.0.1:${plane.registryPort}/shop/web:1`);
    allowed.close();
    allowed.closeAllConnections();
    await fleet.registry.restart();
    expect(JSON.stringify(status)).not.to.contain(INSIDE);
    const events = await shop.client.request('GET', '/api/v1/events');
    expect(JSON.stringify(events)).not.to.contain(INSIDE);
  });

  it('are not run by the id that they have on the machine', async () => {
    const body = { kind: 'Deployment', name: 'by-id', image: `sha256:${'a'.repeat(64)}` };
    const answer = await shop.client.request('POST', '/api/v1/deployments', { body });
    expect(answer.ok ? [] : answer.rejections.map(({ code }) => code)).to.deep.equal(['image_required']);
  });

  it('and cannot start make the node neither start nor write without end', async () => {
    const image = await fleet.image('1');
    await shop.apply({ name: 'broken', image, entrypoint: ['/no/such/program'] });
    const failures = async () => {
      const log = await readFile(join(plane.folder, 'agent-shop-1.log'), 'utf8');
      const lines = log.split('\n').filter(line => line.includes('start_failed'));
      return lines.map(line => Date.parse((JSON.parse(line) as { time: string }).time));
    };
    await until('the first start to fail', async () => (await failures()).length > 0);
    const first = await revision();
    const times = await until('a few starts', async () => {
      const all = await failures();
      return all.length >= 5 && all;
    });
    // Reports, statuses and events for each doubling of the wait; once it has its full length, nothing (failed-starts.test.ts).
    expect((await revision()) - first).to.be.at.most(6 * times.length);
    // A busy machine only waits longer.
    const waits = times.slice(1).map((at, index) => at - times[index]!);
    for (const [doublings, wait] of waits.entries())
      expect(wait, `wait ${doublings}`).to.be.at.least(900 * 2 ** doublings);
    const { status } = await shop.show('broken');
    expect(JSON.stringify(status)).to.contain('/no/such/program');
  });
});
