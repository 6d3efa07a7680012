import { expect } from 'chai';

import type { AgentLink, LogLine, LogRequest } from '../link/index.js';
import { silentLogger } from '../log/index.js';
import type { ContainerView } from './container-view.js';
import type { Engine, LogChunk } from './engine/index.js';
import { LogStreamer } from './log-streamer.js';

const request: LogRequest = { id: 'log_1', replica: 'rep_1', follow: true, tail: 10, server: 'http://127.0.0.1:1' };

describe('the log streamer', () => {
  const carried = async (chunks: readonly LogChunk[], known: boolean): Promise<readonly LogLine[]> => {
    const lines: LogLine[] = [];
    let finish: () => void = () => undefined;
    const finished = new Promise<void>(resolve => (finish = resolve));
    const engine = {
      async *logs() {
        yield* chunks;
      },
    } as unknown as Engine;
    const link = {
      async sendLogs(_: LogRequest, sent: AsyncIterable<LogLine>) {
        for await (const line of sent) lines.push(line);
        finish();
      },
    } as unknown as AgentLink;
    const view = { get: () => (known ? { id: 'c1' } : undefined) } as unknown as ContainerView;
    new LogStreamer({ engine, link, log: silentLogger }, view, new AbortController().signal).stream(request);
    await finished;
    return lines;
  };

  it('joins characters that were split between chunks, per stream', async () => {
    const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
    const lines = await carried(
      [
        { stream: 'stdout', bytes: Buffer.concat([Buffer.from('caf'), first]) },
        { stream: 'stderr', bytes: Buffer.from('oh\n') },
        { stream: 'stdout', bytes: second },
      ],
      true,
    );

    expect(lines).to.deep.equal([
      { stream: 'stdout', text: 'caf' },
      { stream: 'stderr', text: 'oh\n' },
      { stream: 'stdout', text: 'é' },
    ]);
  });

  it('sends an empty stream when there is no container', async () => {
    expect(await carried([{ stream: 'stdout', bytes: Buffer.from('x') }], false)).to.deep.equal([]);
  });

  it("closes the engine's stream when the reader disconnects", async () => {
    let closed: AbortSignal | undefined;
    const engine = {
      async *logs(_: string, __: unknown, signal: AbortSignal) {
        closed = signal;
        yield { stream: 'stdout', bytes: Buffer.from('one\n') };
        await new Promise(resolve => signal.addEventListener('abort', resolve));
      },
    } as unknown as Engine;
    let calls = 0;
    const link = {
      async sendLogs(_: LogRequest, sent: AsyncIterable<LogLine>) {
        calls++;
        await sent[Symbol.asyncIterator]().next();
      },
    } as unknown as AgentLink;
    const view = { get: () => ({ id: 'c1' }) } as unknown as ContainerView;
    const streamer = new LogStreamer({ engine, link, log: silentLogger }, view, new AbortController().signal);
    streamer.stream(request);
    streamer.stream(request);
    await new Promise(resolve => setImmediate(resolve));

    expect(closed?.aborted).to.equal(true);
    expect(calls).to.equal(1);
  });

  it('declines a stream above the maximum, and accepts another when one has ended', async () => {
    const ends: (() => void)[] = [];
    const declined: string[] = [];
    const link = {
      sendLogs: () => new Promise<void>(resolve => ends.push(resolve)),
      declineLogs: async ({ id }: LogRequest) => void declined.push(id),
    } as unknown as AgentLink;
    const view = { get: () => undefined } as unknown as ContainerView;
    const engine = {} as unknown as Engine;
    const streamer = new LogStreamer({ engine, link, log: silentLogger }, view, new AbortController().signal);
    for (let at = 1; at <= 65; at++) streamer.stream({ ...request, id: `log_${at}` });

    expect([ends.length, declined]).to.deep.equal([64, ['log_65']]);
    ends[0]?.();
    await new Promise(resolve => setImmediate(resolve));
    streamer.stream({ ...request, id: 'log_66' });

    expect([ends.length, declined]).to.deep.equal([65, ['log_65']]);
  });
});
