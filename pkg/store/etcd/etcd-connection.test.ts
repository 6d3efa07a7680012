import net, { type AddressInfo } from 'node:net';

import { expect } from 'chai';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { openConnection } from './etcd-client.js';
import type { EtcdConnection } from './etcd-connection.js';

/** Frames of HTTP/2, as a server says them: settings that change nothing, and a ping of its own. */
const SETTINGS = Buffer.from('000000040000000000', 'hex');
const PING = Buffer.from('0000080600000000000000000000000000', 'hex');

describe('a connection to etcd', () => {
  let server: net.Server;
  let peer: net.Socket;
  let clock: ManualClock;
  let connection: EtcdConnection;

  beforeEach(async () => {
    clock = new ManualClock();
    server = net.createServer(socket => {
      peer = socket;
      socket.on('error', () => undefined).write(SETTINGS);
    });
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    connection = await openConnection({ endpoint, tls: {}, clock, connectWithinMs: 1_000 });
  });
  afterEach(() => {
    connection.close();
    server.close();
  });

  /** Makes a call after which a ping is due, and lets the time for its answer pass. */
  async function unanswered(meanwhile: () => void): Promise<void> {
    await clock.pass(5_000);
    connection.call('/any', Buffer.alloc(0), 60_000).catch(() => undefined);
    meanwhile();
    await new Promise(resolve => setTimeout(resolve, 50));
    await clock.pass(2_000);
    await new Promise(resolve => setTimeout(resolve, 50));
  }

  it('is given up when nothing at all comes back', async () => {
    await unanswered(() => undefined);
    expect(connection.usable).to.equal(false);
  });

  it('is kept while something comes, be it not the answer to a ping', async () => {
    await unanswered(() => peer.write(PING));
    expect(connection.usable).to.equal(true);
  });
});
