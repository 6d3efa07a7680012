import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { expect } from 'chai';

import { LinkRefusedFault, LinkUnreachableFault } from './agent-link.js';
import { HttpLink } from './http-link.js';
import type { AssignmentLine, LogLine } from './agent-link.js';

type Handler = (request: IncomingMessage, answer: ServerResponse) => void;

const SNAPSHOT =
  '{"type":"snapshot","replicas":[],"pullTickets":{},"store":{"revision":1,"restoreEpoch":0,"proof":""},"networks":[],"volumes":[]}\n';
const REQUEST = { id: 'log_1', replica: 'r', deploymentUid: 'dep_1', slot: 0 };
const beat = { labels: {}, capacity: { cpu: 1, memory: 1, disk: 1 }, agentVersion: 'test' };

async function readBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

describe('HttpLink', () => {
  let server: Server;
  let handler: Handler;
  let link: HttpLink;
  let address: string;

  beforeEach(async () => {
    server = createServer((request, answer) => handler(request, answer));
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    link = new HttpLink({ server: `${address}/` });
    link.present({ token: 'mnd_token', agent: '', sign: () => 'signature', now: () => 7 });
  });

  afterEach(async () => {
    await link.close();
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });

  it('sends the presented token, and a proof over the request', async () => {
    const texts: string[] = [];
    link.present({ token: 'mnd_token', agent: 'run-1', now: () => 7, sign: text => (texts.push(text), 'signature') });
    let seen: unknown[] = [];
    handler = (request, answer) => {
      const { authorization, 'mooring-proof': proof, 'mooring-agent': agent } = request.headers;
      seen = [request.method, request.url, authorization, proof, agent];
      answer.end('{"failedAfterMs":30000}');
    };

    expect(await link.heartbeat(beat)).to.deep.equal({ failedAfterMs: 30_000 });
    const digest = createHash('sha256').update(JSON.stringify(beat)).digest('base64');
    const proof = `v1.7.${digest}.signature`;
    expect(seen).to.deep.equal(['POST', '/agent/v1/heartbeat', 'Bearer mnd_token', proof, 'run-1']);
    expect(texts).to.deep.equal([`mooring-request\nPOST\n/agent/v1/heartbeat\nmnd_token\nrun-1\n7\n${digest}`]);
  });

  it('renews without a token, and enrols with the join token', async () => {
    const seen: unknown[][] = [];
    handler = (request, answer) => {
      seen.push([request.url, request.headers.authorization, request.headers['mooring-node']]);
      answer.end('{}');
    };
    await link.renew({ nodeId: 'node_1', at: 1, proof: '' });
    await link.enrol({ nodeName: 'n1', ...beat, publicKey: '', proof: '' }, 'mjn_token');

    expect(seen).to.deep.equal([
      ['/agent/v1/token', undefined, 'node_1'],
      ['/api/v1/nodes', 'Bearer mjn_token', undefined],
    ]);
  });

  const refusals: ReadonlyArray<{ status: number; body: string; code: string; retriable: boolean }> = [
    { status: 401, body: '{"code":"auth_invalid"}', code: 'auth_invalid', retriable: false },
    { status: 403, body: '{"code":"auth_forbidden"}', code: 'auth_forbidden', retriable: false },
    { status: 429, body: '{"code":"rate_limited"}', code: 'rate_limited', retriable: true },
    { status: 503, body: '<html>down</html>', code: 'unknown', retriable: true },
  ];
  for (const { status, body, code, retriable } of refusals) {
    it(`throws LinkRefusedFault for status ${status}`, async () => {
      handler = (_, answer) => answer.writeHead(status).end(body);
      const thrown = await thrownBy(link.report({ reports: [] }));

      expect(thrown).to.be.instanceOf(LinkRefusedFault);
      expect(thrown).to.include({ status, code, retriable });
    });
  }

  it('is unreachable when no server listens', async () => {
    const nobody = new HttpLink({ server: 'http://127.0.0.1:1' });

    expect(await thrownBy(nobody.heartbeat(beat))).to.be.instanceOf(LinkUnreachableFault);
    await nobody.close();
  });

  it('delivers assignments line by line, and throws when the stream breaks', async () => {
    handler = (_, answer) => {
      answer.write(`${SNAPSHOT}{"type":"pi`);
      setImmediate(() => {
        answer.write('ng"}\n{"type":"dr');
        setImmediate(() => answer.destroy());
      });
    };
    const heard: AssignmentLine[] = [];
    const thrown = await thrownBy(link.assignments(line => heard.push(line), new AbortController().signal));

    expect(thrown).to.be.instanceOf(LinkUnreachableFault);
    expect(heard.map(({ type }) => type)).to.deep.equal(['snapshot', 'ping']);
  });

  it('throws when the server ends the stream', async () => {
    handler = (_, answer) => answer.end(SNAPSHOT);

    const thrown = await thrownBy(link.assignments(() => undefined, new AbortController().signal));
    expect(thrown).to.be.instanceOf(LinkUnreachableFault);
  });

  it('throws when a snapshot leaves a part out, which would be taken for gone', async () => {
    handler = (_, answer) => answer.end(SNAPSHOT.replace(',"volumes":[]', ''));
    const thrown = await thrownBy(link.assignments(() => expect.fail('heard'), new AbortController().signal));
    expect(thrown).to.be.instanceOf(LinkUnreachableFault).with.property('message').that.includes('is not whole');
  });

  it('ends the assignment stream without a fault when aborted', async () => {
    handler = (_, answer) => answer.write(SNAPSHOT);
    const end = new AbortController();

    await link.assignments(() => end.abort(), end.signal);
  });

  it('sends log lines at once to the server that requested them', async () => {
    let received: unknown[] = [];
    handler = (request, answer) => {
      void readBody(request).then(text => {
        received = [request.url, ...text.split('\n').filter(Boolean)];
        answer.end();
      });
    };
    async function* lines(): AsyncGenerator<LogLine> {
      yield { stream: 'stdout', text: 'one\n' };
      yield { stream: 'stderr', text: 'two\n' };
    }
    const request = { ...REQUEST, follow: false, tail: 10, server: address };
    await link.sendLogs(request, lines(), new AbortController().signal);

    expect(received).to.deep.equal([
      '/agent/v1/logs/log_1',
      '{"stream":"stdout","text":"one\\n"}',
      '{"stream":"stderr","text":"two\\n"}',
    ]);
  });

  it('connects to the requesting server before the first log line', async () => {
    handler = (_, answer) => answer.end();
    const quiet = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) };
    const request = { ...REQUEST, follow: true, tail: 0, server: address };

    await link.sendLogs(request, quiet, new AbortController().signal);
  });

  it('declines a log request', async () => {
    let seen: (string | undefined)[] = [];
    handler = (request, answer) => {
      seen = [request.method, request.url, request.headers.authorization];
      answer.end();
    };
    await link.declineLogs({ ...REQUEST, follow: true, tail: 0, server: address });

    expect(seen).to.deep.equal(['DELETE', '/agent/v1/logs/log_1', 'Bearer mnd_token']);
  });

  it('throws when the reader of logs disconnects', async () => {
    handler = request => void request.once('data', () => request.destroy());
    async function* lines(): AsyncGenerator<LogLine> {
      yield { stream: 'stdout', text: 'one\n' };
      await new Promise(() => undefined);
    }
    const request = { ...REQUEST, follow: true, tail: 10, server: address };

    const thrown = await thrownBy(link.sendLogs(request, lines(), new AbortController().signal));
    expect(thrown).to.be.instanceOf(LinkUnreachableFault);
  });
});
