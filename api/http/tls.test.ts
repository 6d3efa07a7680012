import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { acceptTls } from './tls.js';

describe('a server that takes plain HTTP and TLS on one port', () => {
  let server: Server;
  let port: number;

  beforeEach(async () => {
    server = createServer((_request, response) => response.end('served'));
    acceptTls(server, {}, 3_600_000);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });

  const countConnections = () =>
    new Promise<number>((resolve, reject) =>
      server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );

  it('serves what begins like HTTP', async () => {
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).to.equal('served');
  });

  const endings: readonly [when: string, sent: Buffer][] = [
    ['before its first byte', Buffer.alloc(0)],
    ['within its handshake', Buffer.from([0x16, 0x03, 0x01])],
  ];
  for (const [when, sent] of endings) {
    it(`lets go of a connection that ends ${when}, or it could not stop`, async () => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      await until('the connection to be taken', async () => (await countConnections()) === 1);
      socket.write(sent);
      socket.end();
      socket.resume();
      await once(socket, 'close');
      expect(await until('no connection to be left', async () => (await countConnections()) === 0)).to.equal(true);
    });
  }
});
