import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';

import { expect } from 'chai';
import sinon from 'sinon';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import { StoreUnavailableFault } from '../faults.js';
import { EtcdConnection } from './etcd-connection.js';
import { AnswerLostFault } from './grpc.js';

/** Frames of HTTP/2, as a server sends them: empty SETTINGS, a PING, and a GOAWAY that has taken no stream. */
const SETTINGS = Buffer.from('000000040000000000', 'hex');
const PING = Buffer.from('0000080600000000000000000000000000', 'hex');
const GO_AWAY = Buffer.from('0000080700000000000000000000000000', 'hex');

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
    connection = await EtcdConnection.open({ endpoint, tls: {}, clock, connectWithinMs: 1_000 });
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

  it('is closed when no bytes arrive', async () => {
    await unanswered(() => undefined);
    expect(connection.usable).to.equal(false);
  });

  it('ends its socket when a retired connection is silent, though the peer never closes its side', async () => {
    const countSockets = () => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length;
    peer.pause(); // a frozen process reads nothing, and sends no FIN
    const sockets = countSockets();
    const outcome = connection.call('/any', Buffer.alloc(0), 1_000).catch((thrown: unknown) => thrown);
    connection.retire();
    await clock.pass(1_001);
    expect(await outcome).to.be.instanceOf(AnswerLostFault);
    await new Promise(resolve => setTimeout(resolve, 50));
    expect(countSockets()).to.equal(sockets - 1);
    peer.destroy();
  });

  it('stays open while any bytes arrive, even without an answer to a ping', async () => {
    await unanswered(() => peer.write(PING));
    expect(connection.usable).to.equal(true);
  });

  it('reports a call as not run when the server goes away before it accepts the stream', async () => {
    const outcome = connection.call('/any', Buffer.alloc(0), 60_000).catch((thrown: unknown) => thrown);
    await new Promise(resolve => setTimeout(resolve, 50));
    peer.write(GO_AWAY);
    expect(await outcome).to.be.instanceOf(StoreUnavailableFault);
    expect(connection.usable).to.equal(false);
  });
});

describe('a connection to etcd that breaks as soon as it is made', () => {
  afterEach(() => sinon.restore());

  it('ends in a fault', async () => {
    const server = http2.createServer();
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connect = http2.connect.bind(http2);
    sinon.stub(http2, 'connect').callsFake((authority, options) => {
      const session = connect(authority, options as http2.ClientSessionOptions);
      session.once('connect', () => session.destroy());
      return session;
    });
    const opening = EtcdConnection.open({ endpoint, tls: {}, clock: new ManualClock(), connectWithinMs: 1_000 });
    expect(await opening.catch((thrown: unknown) => thrown)).to.be.instanceOf(StoreUnavailableFault);
    server.close();
  });
});

describe('a call to etcd without an answer', () => {
  const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = http2.constants;
  const cases: readonly {
    name: string;
    react: (stream: http2.ServerHttp2Stream) => void;
    fault: typeof AnswerLostFault | typeof StoreUnavailableFault;
  }[] = [
    {
      name: 'is certain not to be carried out when its stream is refused',
      react: stream => stream.close(NGHTTP2_REFUSED_STREAM),
      fault: StoreUnavailableFault,
    },
    {
      name: 'may have been carried out when its stream is cancelled',
      react: stream => stream.close(NGHTTP2_CANCEL),
      fault: AnswerLostFault,
    },
    {
      name: 'may have been carried out when the connection breaks',
      react: stream => stream.session?.destroy(undefined, NGHTTP2_NO_ERROR),
      fault: AnswerLostFault,
    },
  ];
  for (const { name, react, fault } of cases) {
    it(name, async () => {
      const server = http2.createServer();
      server.on('stream', stream => react(stream.on('error', () => undefined)));
      await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
      const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const clock = new ManualClock();
      const connection = await EtcdConnection.open({ endpoint, tls: {}, clock, connectWithinMs: 1_000 });
      const outcome = await connection.call('/any', Buffer.alloc(0), 60_000).catch((thrown: unknown) => thrown);
      expect(outcome).to.be.instanceOf(fault);
      connection.close();
      server.close();
    });
  }
});
