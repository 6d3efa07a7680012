import http2, { type Http2Server, type ServerHttp2Stream } from 'node:http2';
import net, { type AddressInfo } from 'node:net';

import { expect } from 'chai';

import { until } from '../../../dev/testing/index.js';
import { systemClock, systemRandom } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { type Logger, silentLogger } from '../../log/index.js';
import { StoreUnavailableFault } from '../faults.js';
import { EtcdClient } from './etcd-client.js';
import { EtcdReads } from './etcd-reads.js';
import { AnswerLostFault, ExhaustedFault, toFault } from './grpc.js';
import { ReverseWriter } from './protobuf.js';

const { NGHTTP2_REFUSED_STREAM } = http2.constants;

/** An answer to a range: its revision, and nothing else. */
function rangeAnswer(revision: number): Buffer {
  const writer = new ReverseWriter(64);
  const end = writer.at;
  writer.number(0x18, revision); // ResponseHeader.revision
  writer.close(0x0a, end); // RangeResponse.header
  return writer.frame();
}

function answer(stream: ServerHttp2Stream, message: Buffer): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(message);
}

function fail(stream: ServerHttp2Stream, status: number, text: string): void {
  stream.respond({ ':status': 200, 'grpc-status': String(status), 'grpc-message': text }, { endStream: true });
}

describe('client of etcd', () => {
  let server: Http2Server;
  let client: EtcdClient;
  let endpoint: string;
  let sessions = 0;
  let react: (stream: ServerHttp2Stream, call: number, session: number) => void;
  const warnings: string[] = [];
  const log: Logger = { ...silentLogger, warn: (_, fields) => void warnings.push(String(fields?.error?.cause)) };

  const open = (endpoints: readonly string[], callDeadlineMs = 300) =>
    new EtcdClient({ endpoints, tls: () => ({}), clock: systemClock, random: systemRandom, log, callDeadlineMs });

  beforeEach(async () => {
    let calls = 0;
    sessions = 0;
    warnings.length = 0;
    server = http2.createServer();
    server.on('session', session => {
      const number = ++sessions;
      session.on('stream', stream => {
        stream.resume().on('error', () => undefined);
        react(stream, ++calls, number);
      });
    });
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = open([endpoint]);
  });
  afterEach(() => {
    client.close();
    server.close();
  });

  it('opens another connection after a failure, even with one endpoint, which may be a load balancer', async () => {
    react = (stream, _, session) => (session === 1 ? fail(stream, 14, 'no leader') : answer(stream, rangeAnswer(3)));
    const first = await client.callOnce('KV/Range', Buffer.alloc(5)).catch((thrown: unknown) => thrown);
    expect(first).to.be.instanceOf(AnswerLostFault);
    expect(await client.callOnce('KV/Range', Buffer.alloc(5))).to.be.instanceOf(Buffer);
    expect(sessions).to.equal(2);
  });

  it('repeats a request that etcd refused before running it, also a write', async () => {
    react = (stream, call) => (call === 1 ? stream.close(NGHTTP2_REFUSED_STREAM) : answer(stream, rangeAnswer(3)));
    expect(await client.callOnce('KV/Txn', Buffer.alloc(5))).to.be.instanceOf(Buffer);
  });

  it('warns once why a member cannot be reached, and names the reason in the fault', async () => {
    const closed = 'http://127.0.0.1:1';
    const unreachable = open([closed]);
    const fault = await unreachable.callOnce('KV/Range', Buffer.alloc(5)).catch((thrown: unknown) => thrown);
    unreachable.close();
    expect(fault).to.be.instanceOf(StoreUnavailableFault);
    expect(String((fault as Error & { cause: Error }).cause.cause)).to.contain('ECONNREFUSED');
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('ECONNREFUSED');
  });

  it('keeps its connection when etcd answers that a limit is reached: another member would say the same', async () => {
    react = (stream, call) => (call === 1 ? fail(stream, 8, 'no space') : answer(stream, rangeAnswer(3)));
    const full = await client.callOnce('KV/Txn', Buffer.alloc(5)).catch((thrown: unknown) => thrown);
    expect(full).to.be.instanceOf(ExhaustedFault);
    expect(await client.callOnce('KV/Range', Buffer.alloc(5))).to.be.instanceOf(Buffer);
    expect(sessions).to.equal(1);
  });

  it('warns of a dead member once, however often the others are reached meanwhile', async () => {
    react = (stream, _, session) => (session < 4 ? fail(stream, 14, 'no leader') : answer(stream, rangeAnswer(3)));
    const half = open(['http://127.0.0.1:1', endpoint]);
    for (let n = 0; n < 4; n++) await half.callOnce('KV/Range', Buffer.alloc(5)).catch(() => undefined);
    half.close();
    expect(sessions).to.equal(4);
    expect(warnings).to.have.length(1);
  });

  it('retries a request that etcd denies, because an operator can fix permissions', () => {
    for (const status of [7, 16]) expect(toFault(status, 'permission denied').retriable).to.equal(true);
  });

  it('reads a list in smaller pages when a page cannot be read in time', async () => {
    const limits: number[] = [];
    react = stream => {
      stream.once('data', (request: Buffer) => {
        // RangeRequest.limit, which stands last but the key and the end of the range.
        const at = request.indexOf(0x18, 5);
        const limit = (request[at + 1]! & 0x7f) | (request[at + 1]! & 0x80 ? request[at + 2]! << 7 : 0);
        limits.push(limit);
        if (limit <= 100) answer(stream, rangeAnswer(3));
      });
    };
    const reads = new EtcdReads(open([endpoint], 100), '/r/', 400);
    expect((await reads.list('')).revision).to.equal(3);
    expect(new Set(limits)).to.deep.equal(new Set([400, 200, 100]));
  });

  it('forgets the revisions it has seen when an older state was restored', async () => {
    const revisions = [90, 40];
    react = stream => answer(stream, rangeAnswer(revisions.shift()!));
    const reads = new EtcdReads(client, '/r/', 500);
    await reads.revision();
    expect(reads.seen).to.equal(90);
    await reads.revision();
    expect(reads.seen).to.equal(40);
  });
});

describe('client of etcd after an outage', () => {
  it('is connected again at once when the network heals, though earlier attempts are still waited for', async () => {
    const [clock, http, sockets] = [new ManualClock(), http2.createServer(), new Set<net.Socket>()];
    let [isHealed, attempts] = [false, 0];
    // Until the network heals, connections are taken and nothing is ever said on them.
    const server = net.createServer(socket => {
      attempts++;
      sockets.add(socket.on('error', () => undefined));
      if (isHealed) http.emit('connection', socket);
    });
    http.on('stream', stream => answer(stream, rangeAnswer(3)));
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    const endpoints = [`http://127.0.0.1:${(server.address() as AddressInfo).port}`];
    const options = { tls: () => ({}), clock, random: systemRandom, log: silentLogger, callDeadlineMs: 60_000 };
    const client = new EtcdClient({ endpoints, ...options });
    let isDone = false;
    const call = client.callOnce('KV/Range', Buffer.alloc(5)).finally(() => {
      isDone = true;
    });
    const pass = async (ms: number) => {
      const before = attempts;
      await clock.pass(ms);
      await until('another attempt', () => attempts > before || isDone);
    };
    for (let passed = 0; passed < 8_000; passed += 250) await pass(250);

    isHealed = true;
    await pass(250);
    await call;
    for (const socket of sockets) socket.destroy();
    client.close();
    server.close();
  });
});
