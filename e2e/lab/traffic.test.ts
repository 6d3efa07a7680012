import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { type OfferedReplica, withTraffic } from './traffic.js';

describe('traffic', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** A replica that answers, and how many requests it has had. */
  const serve = async (status: () => number = () => 200, isHeld: () => Promise<unknown> = async () => undefined) => {
    const seen = { count: 0 };
    const server = createServer((_, response) => {
      seen.count++;
      response.statusCode = status();
      void isHeld().then(() => response.end());
    });
    servers.push(server);
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return { seen, replica: { id: String(port), url: `http://127.0.0.1:${port}/` } };
  };

  const failsWith = async (message: RegExp, running: Promise<void>) => {
    const [outcome] = await Promise.allSettled([running]);
    expect(outcome.status === 'rejected' ? String(outcome.reason) : 'nothing').to.match(message);
  };

  it('goes to each replica at a pace of its own, while another does not answer and to that one, too', async () => {
    let held: Promise<unknown> = Promise.resolve();
    const [quick, slow] = [await serve(), await serve(undefined, () => held)];
    const list = async () => [quick.replica, slow.replica];
    await withTraffic({ list, atLeast: 2 }, async () => {
      let letGo: (value: unknown) => void = () => undefined;
      held = new Promise(resolve => (letGo = resolve));
      const before = [quick, slow].map(({ seen }) => seen.count);
      const goesOn = () => [quick, slow].every(({ seen }, at) => seen.count > before[at]! + 10);
      await until('ten requests to each', goesOn);
      letGo(undefined);
    });
  });

  it('follows what is offered', async () => {
    const [first, second] = [await serve(), await serve()];
    let offered: readonly OfferedReplica[] = [first.replica];
    await withTraffic({ list: async () => offered, atLeast: 1 }, async () => {
      offered = [second.replica];
      await until('the second one', () => second.seen.count > 20);
      const before = first.seen.count;
      await until('more of it', () => second.seen.count > 40);
      expect(first.seen.count).to.equal(before);
    });
  });

  it('tells a request that failed', async () => {
    let isWell = true;
    const { replica, seen } = await serve(() => (isWell ? 200 : 503));
    const work = async () => {
      isWell = false;
      const before = seen.count;
      await until('a failure', () => seen.count > before + 2);
      isWell = true;
    };
    await failsWith(/503/, withTraffic({ list: async () => [replica], atLeast: 1 }, work));
  });

  it('tells a moment with too few replicas, and with none', async () => {
    const [first, second] = [await serve(), await serve()];
    for (const rest of [[], [first.replica]]) {
      let offered: readonly OfferedReplica[] = [first.replica, second.replica];
      let isSeen = false;
      const list = async () => {
        isSeen ||= offered === rest;
        return offered;
      };
      const work = async () => {
        offered = rest;
        await until('the moment', () => isSeen);
        offered = [first.replica, second.replica];
      };
      await failsWith(/offered at once/, withTraffic({ list, atLeast: 2 }, work));
    }
  });
});
