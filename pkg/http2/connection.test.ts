import http2, { type Http2Server, type ServerHttp2Stream } from 'node:http2';
import net, { type AddressInfo } from 'node:net';

import { expect } from 'chai';
import fc from 'fast-check';

import { until } from '../../dev/testing/index.js';
import { Http2Connection } from './connection.js';
import type { Windows } from './connection-handler.js';
import { FrameReader, frameHeader, frameType, settingsFrame } from './frame.js';
import { encodeHeaders, type HeaderField } from './header-encoder.js';
import { Http2Fault } from './http2-fault.js';
import type { StreamEnd } from './stream.js';

const WINDOWS: Windows = { stream: 100_000, connection: 300_000 };

interface Heard {
  readonly headers: readonly HeaderField[][];
  readonly body: Buffer;
  readonly end: StreamEnd;
}

const headersTo = (path: string) =>
  encodeHeaders([
    { name: ':method', value: 'POST' },
    { name: ':scheme', value: 'http' },
    { name: ':authority', value: 'here' },
    { name: ':path', value: path },
  ]);

function ask(connection: Http2Connection, path: string, body = Buffer.alloc(0)): Promise<Heard> {
  const headers: HeaderField[][] = [];
  const chunks: Buffer[] = [];
  return new Promise(resolve => {
    connection.request(
      headersTo(path),
      {
        onHeaders: fields => headers.push([...fields]),
        onData: bytes => chunks.push(bytes),
        onEnd: end => resolve({ headers, body: Buffer.concat(chunks), end }),
      },
      body,
    );
  });
}

/** What the server does with a request, by its path. */
const habits: Readonly<Record<string, (stream: ServerHttp2Stream, body: Buffer) => void>> = {
  '/echo': (stream, body) => {
    stream.respond({ ':status': 200, length: String(body.length) }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-said': 'ÿ~!"$ äöü' }));
    stream.end(body);
  },
  '/long-headers': stream => {
    stream.respond({ ':status': 200, ...Object.fromEntries(range(40).map(n => [`x-${n}`, String(n).repeat(400)])) });
    stream.end();
  },
  '/refused': stream => stream.close(http2.constants.NGHTTP2_REFUSED_STREAM),
  '/reset': stream => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR),
  '/cut': stream => {
    stream.respond({ ':status': 200 });
    stream.write('half', () => stream.session?.destroy());
  },
  '/silent': () => undefined,
};

const CONTINUED = frameHeader(0, { type: frameType.continuation, flags: 0, stream: 1 });

const range = (n: number) => Array.from({ length: n }, (_, index) => index);

describe('a connection of HTTP/2', () => {
  let server: Http2Server;
  let served: ServerHttp2Stream[];
  let connection: Http2Connection;
  let socket: net.Socket;
  let closed: Promise<Error | undefined>;

  function connect(port: number): Promise<void> {
    socket = net.connect(port, '127.0.0.1').setNoDelay(true);
    return new Promise((resolve, reject) => {
      closed = new Promise(tell => {
        const handler = { onReady: resolve, onClose: (cause: Error | undefined) => [tell(cause), reject(cause)] };
        connection = new Http2Connection(socket, WINDOWS, handler);
      });
    });
  }

  async function serve(options: http2.ServerOptions = {}): Promise<void> {
    served = [];
    server = http2.createServer(options, undefined);
    server.on('stream', (stream, headers) => {
      served.push(stream);
      stream.on('error', () => undefined);
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      if (headers[':path'] === '/cut') return habits['/cut']!(stream, Buffer.alloc(0));
      stream.on('end', () => habits[headers[':path']!]!(stream, Buffer.concat(chunks)));
      return undefined;
    });
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    await connect((server.address() as AddressInfo).port);
  }

  afterEach(async () => {
    connection.destroy();
    await closed;
    server.close();
  });

  it('sends a request and hears headers, data, trailers and the end', async () => {
    await serve();
    const { headers, body, end } = await ask(connection, '/echo', Buffer.from('hello'));
    expect(headers[0]).to.deep.include({ name: ':status', value: '200' });
    expect(body.toString()).to.equal('hello');
    expect(headers[1]).to.deep.equal([
      { name: 'grpc-status', value: '0' },
      { name: 'x-said', value: 'ÿ~!"$ äöü' },
    ]);
    expect(end).to.deep.equal({ outcome: 'finished' });
  });

  it('has handed the request to the kernel before the call returns', async () => {
    await serve();
    const before = socket.bytesWritten;
    void ask(connection, '/echo', Buffer.alloc(1_000));
    expect(socket.bytesWritten - before).to.be.greaterThan(1_000);
    expect(socket.writableLength).to.equal(0);
  });

  it('carries bodies larger than every window, a hundred at once, in both directions', async () => {
    await serve();
    const bodies = range(100).map(n => Buffer.alloc(n * 3_000, n));
    const heard = await Promise.all(bodies.map(body => ask(connection, '/echo', body)));
    heard.forEach(({ body, end }, n) => {
      expect(end.outcome).to.equal('finished');
      expect(body.equals(bodies[n]!), `body ${n}`).to.equal(true);
    });
  });

  it('keeps within the streams and windows that the server offers, and uses frames as large as it takes', async () => {
    await serve({ settings: { maxConcurrentStreams: 3, initialWindowSize: 1_000, maxFrameSize: 20_000 } });
    const body = Buffer.alloc(50_000, 1);
    const heard = await Promise.all(range(20).map(() => ask(connection, '/echo', body)));
    for (const { body: echoed } of heard) expect(echoed.equals(body)).to.equal(true);
  });

  it('takes headers that need several frames, and frames that are padded', async () => {
    await serve({ paddingStrategy: http2.constants.PADDING_STRATEGY_MAX, maxSendHeaderBlockLength: 60_000 });
    const { headers } = await ask(connection, '/long-headers');
    expect(headers[0]).to.deep.include({ name: 'x-39', value: '39'.repeat(400) });
    const { body } = await ask(connection, '/echo', Buffer.alloc(40_000, 7));
    expect(body.equals(Buffer.alloc(40_000, 7))).to.equal(true);
  });

  it('writes on a stream that stays open, and hears its end after an answer', async () => {
    await serve();
    const heard: string[] = [];
    const stream = connection.request(headersTo('/silent'), {
      onHeaders: () => heard.push('headers'),
      onData: bytes => heard.push(bytes.toString()),
      onEnd: ({ outcome }) => heard.push(outcome),
    });
    stream.write(Buffer.from('one'));
    await until('a stream to be served', () => served.length === 1);
    served[0]!.respond({ ':status': 200 });
    served[0]!.end('that is all');
    await until('messages to arrive', () => heard.length === 3);
    expect(heard).to.deep.equal(['headers', 'that is all', 'finished']);
    stream.write(Buffer.from('too late'));
    expect((await ask(connection, '/echo')).end.outcome, 'the connection goes on').to.equal('finished');
  });

  for (const [path, outcome] of [
    ['/refused', 'refused'],
    ['/reset', 'broke'],
    ['/cut', 'broke'],
  ] as const) {
    it(`tells of ${path} that the stream ${outcome === 'broke' ? 'broke' : 'was refused'}`, async () => {
      await serve();
      expect((await ask(connection, path)).end).to.deep.include({ outcome });
    });
  }

  it('says nothing more about a stream that was cancelled, and the server hears of it', async () => {
    await serve();
    const heard: string[] = [];
    const handler = { onHeaders: () => heard.push('h'), onData: () => heard.push('d'), onEnd: () => heard.push('e') };
    const stream = connection.request(headersTo('/silent'), handler, Buffer.alloc(0));
    await until('a stream to be served', () => served.length === 1);
    stream.cancel();
    await until('the stream to be cancelled', () => served[0]!.rstCode === http2.constants.NGHTTP2_CANCEL);
    expect((await ask(connection, '/echo')).end.outcome).to.equal('finished');
    expect(heard).to.deep.equal([]);
  });

  it('lets what is under way finish when the server goes away, refuses what it did not take, and closes', async () => {
    await serve({ settings: { maxConcurrentStreams: 1 } });
    const underWay = ask(connection, '/silent');
    const queued = ask(connection, '/echo');
    await until('a stream to be served', () => served.length === 1);
    served[0]!.session!.goaway(http2.constants.NGHTTP2_NO_ERROR, served[0]!.id!);
    expect((await queued).end.outcome).to.equal('refused');
    expect(connection.usable).to.equal(false);
    expect(() => connection.request(headersTo('/echo'), { onHeaders() {}, onData() {}, onEnd() {} })).to.throw(
      Http2Fault,
    );
    served[0]!.respond({ ':status': 200 }, { endStream: true });
    expect((await underWay).end.outcome).to.equal('finished');
    await closed;
  });

  it('retires: what is under way or queued finishes, then the connection closes', async () => {
    await serve({ settings: { maxConcurrentStreams: 1 } });
    const asked = range(3).map(() => ask(connection, '/echo', Buffer.alloc(10_000)));
    connection.retire();
    expect(connection.usable).to.equal(false);
    for (const { end } of await Promise.all(asked)) expect(end.outcome).to.equal('finished');
    expect(await closed).to.equal(undefined);
  });

  it('answers pings, and hears the answers to its own', async () => {
    await serve();
    await new Promise<void>(resolve => connection.ping(resolve));
    void ask(connection, '/silent');
    await until('a stream to be served', () => served.length === 1);
    await new Promise(resolve => served[0]!.session!.ping(resolve));
  });

  it('is understood by a server that keeps no table of headers', async () => {
    await serve({ settings: { headerTableSize: 0 } });
    for (let n = 0; n < 3; n++) expect((await ask(connection, '/echo')).end.outcome).to.equal('finished');
  });

  it('says nothing more about a stream that is cancelled while its last data is heard', async () => {
    await serve();
    const heard: string[] = [];
    const stream = connection.request(
      headersTo('/echo'),
      {
        onHeaders: () => undefined,
        onData: () => {
          heard.push('data');
          stream.cancel();
        },
        onEnd: () => heard.push('ended'),
      },
      Buffer.from('hello'),
    );
    await until('messages to arrive', () => heard.length > 0);
    expect((await ask(connection, '/echo')).end.outcome).to.equal('finished');
    expect(heard).to.deep.equal(['data']);
  });

  for (const [what, bytes] of [
    ['a frame larger than was offered', frameHeader(16_385, { type: frameType.data, flags: 0, stream: 1 })],
    ['something pushed', frameHeader(0, { type: frameType.pushPromise, flags: 0, stream: 1 })],
    ['headers that another frame interrupts', interrupted()],
    ['a continuation of nothing', frameHeader(0, { type: frameType.continuation, flags: 4, stream: 1 })],
    ['settings that are cut off', Buffer.concat([frameHeader(5, { type: 4, flags: 0, stream: 0 }), Buffer.alloc(5)])],
    ['settings that cannot be', settingsFrame([[5, 2 ** 24]])],
    ['headers that never end', Buffer.concat([headersBegun(), ...range(8_000).map(() => CONTINUED)])],
    ['more padding than there is', Buffer.concat([frameHeader(1, { type: 0, flags: 8, stream: 1 }), Buffer.of(9)])],
    ['HTTP/1.1', Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')],
  ] as const) {
    it(`closes when it hears ${what}`, async () => {
      const raw = net.createServer(peer => {
        peer.on('error', () => undefined);
        peer.write(Buffer.concat([settingsFrame([]), bytes]));
      });
      await new Promise<void>(resolve => void raw.listen(0, '127.0.0.1', resolve));
      server = raw as unknown as Http2Server;
      await connect((raw.address() as AddressInfo).port).catch(() => undefined);
      expect(await closed).to.be.instanceOf(Http2Fault);
    });
  }
});

function headersBegun(): Buffer {
  return frameHeader(0, { type: frameType.headers, flags: 0, stream: 1 });
}

function interrupted(): Buffer {
  return Buffer.concat([
    headersBegun(),
    frameHeader(8, { type: frameType.ping, flags: 0, stream: 0 }),
    Buffer.alloc(8),
  ]);
}

describe('frames', () => {
  it('are the same wherever the chunks begin and end', () => {
    const frame = fc.record({ type: fc.nat(12), flags: fc.nat(255), stream: fc.nat(1_000), payload: fc.uint8Array() });
    fc.assert(
      fc.property(fc.array(frame), fc.infiniteStream(fc.integer({ min: 1, max: 40 })), (frames, sizes) => {
        const sent = frames.map(({ payload, ...rest }) => ({ ...rest, payload: Buffer.from(payload) }));
        const bytes = Buffer.concat(
          sent.flatMap(({ payload, ...rest }) => [frameHeader(payload.length, rest), payload]),
        );
        const reader = new FrameReader();
        const read: unknown[] = [];
        for (let at = 0; at < bytes.length; ) {
          const size = sizes.next().value;
          reader.take(bytes.subarray(at, at + size), whole => read.push(whole));
          at += size;
        }
        expect(read).to.deep.equal(sent);
      }),
    );
  });
});
