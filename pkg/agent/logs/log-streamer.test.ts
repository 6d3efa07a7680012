import { expect } from 'chai';

import { ManualClock } from '../../clock/manual-clock.testing.js';
import type { AgentLink, LogLine, LogRequest } from '../../link/index.js';
import { silentLogger } from '../../log/index.js';
import type { ContainerView } from '../container-view.js';
import { createMemoryDisk } from '../disk.js';
import {
  type ContainerStatus,
  type Engine,
  EngineRefusedFault,
  EngineUnreachableFault,
  type LogEntry,
} from '../engine/index.js';
import { KeptLogs } from './kept-logs.js';
import { LogStreamer } from './log-streamer.js';

const request: LogRequest = {
  id: 'log_1',
  replica: 'rep_1',
  deploymentUid: 'dep_1',
  slot: 0,
  follow: false,
  tail: 100_000,
  server: 'http://127.0.0.1:1',
};
const container = (id = 'c1'.repeat(32)): ContainerStatus => ({
  id,
  name: 'web-0',
  owner: {
    nodeId: 'node_1',
    tenant: 't',
    deployment: 'web',
    deploymentUid: 'dep_1',
    replica: 'rep_1',
    slot: 0,
    generation: 1,
    templateHash: 'h',
  },
  state: 'running',
  health: 'none',
  exitCode: undefined,
});
const line = (text: string, at: number, stream: LogEntry['stream'] = 'stdout'): LogEntry => ({
  stream,
  at: `${String(at).padStart(10, '0')}.000000000`,
  bytes: Buffer.from(text),
});

/** A streamer on an engine in memory, and what its streams have sent. */
class StreamerLab {
  readonly clock = new ManualClock();
  readonly disk = createMemoryDisk();
  readonly sent: LogLine[] = [];
  readonly declined: string[] = [];
  readonly ends: (() => void)[] = [];
  readonly stop = new AbortController();
  logs = new Map<string, readonly LogEntry[]>();
  current: ContainerStatus | undefined = container();
  isListed = true;
  failure: Error | undefined;
  /** What the engine says when it is asked for a log. */
  refusal: Error | undefined;
  /** Whether streams are never read: they stay open until ended by hand. */
  isBusy = false;
  kept!: KeptLogs;
  streamer!: LogStreamer;
  sending: Promise<void> = Promise.resolve();

  async start(): Promise<this> {
    const read = (id: string) => this.#read(id);
    const engine = {
      inspect: async () => {
        if (this.failure) throw this.failure;
        return this.current;
      },
      async *logs(id: string) {
        yield* read(id);
      },
    } as unknown as Engine;
    const link = {
      sendLogs: (_: LogRequest, lines: AsyncIterable<LogLine>) => (this.sending = this.#take(lines)),
      declineLogs: async ({ id }: LogRequest) => void this.declined.push(id),
    } as unknown as AgentLink;
    const isListed = () => this.isListed;
    const view = {
      get isListed() {
        return isListed();
      },
      get: () => this.current,
    } as unknown as ContainerView;
    const env = { engine, link, log: silentLogger, clock: this.clock, disk: this.disk };
    this.kept = await KeptLogs.load(env, 'node_1');
    this.streamer = new LogStreamer(env, { view, kept: this.kept }, this.stop.signal);
    return this;
  }

  #read(id: string): readonly LogEntry[] {
    const refusal = this.failure ?? this.refusal;
    if (refusal) throw refusal;
    const entries = this.logs.get(id);
    if (!entries) throw new EngineRefusedFault(404, 'no such container');
    return entries;
  }

  async #take(lines: AsyncIterable<LogLine>): Promise<void> {
    if (this.isBusy) return new Promise(resolve => this.ends.push(resolve));
    for await (const each of lines) this.sent.push(each);
  }

  /** All texts, and why the stream ended. */
  async finish(): Promise<readonly [text: string, end: string | undefined]> {
    await this.clock.pass(10_000);
    await this.sending;
    return [this.sent.map(({ text }) => text).join(''), this.sent.at(-1)?.end];
  }
}

describe('the log streamer', () => {
  let lab: StreamerLab;

  beforeEach(async () => {
    lab = await new StreamerLab().start();
  });
  afterEach(() => lab.stop.abort());

  it('sends each entry with its time and position, and joins characters that were split, per stream', async () => {
    const [first, second] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
    const { id } = lab.current!;
    lab.logs.set(id, [
      { ...line('', 1), bytes: Buffer.concat([Buffer.from('caf'), first]) },
      line('oh\n', 2, 'stderr'),
      { ...line('', 1), bytes: second },
    ]);
    lab.streamer.stream(request);
    await lab.finish();

    const at = (seconds: number) => `000000000${seconds}.000000000`;
    expect(lab.sent).to.deep.equal([
      { stream: 'stdout', text: '', begin: {} },
      { stream: 'stdout', text: 'caf', at: at(1), position: `${id}:stdout:${at(1)}:1` },
      { stream: 'stderr', text: 'oh\n', at: at(2), position: `${id}:stderr:${at(2)}:1` },
      { stream: 'stdout', text: 'é', at: at(1), position: `${id}:stdout:${at(1)}:2` },
      { stream: 'stdout', text: '', end: 'complete' },
    ]);
  });

  it('ends with the reason when nothing can be read', async () => {
    lab.current = undefined;
    lab.streamer.stream(request);
    expect(await lab.finish()).to.deep.equal(['', 'no_container']);

    lab.isListed = false;
    lab.streamer.stream({ ...request, id: 'log_2' });
    expect(await lab.finish()).to.deep.equal(['', 'engine_unreachable']);
    lab.isListed = true;
    lab.current = container();
    lab.failure = new EngineUnreachableFault('away');
    lab.streamer.stream({ ...request, id: 'log_3', follow: true });
    expect(await lab.finish()).to.deep.equal(['', 'engine_unreachable']);
  });

  it('follows a container over its restarts, shows that it is alive, and ends when the engine is lost', async () => {
    const { id } = lab.current!;
    lab.logs.set(id, [line('1\n', 1)]);
    lab.streamer.stream({ ...request, follow: true });
    await lab.clock.pass(100);
    lab.current = { ...container(), state: 'exited' };
    await lab.clock.pass(20_000);
    expect(lab.sent.filter(({ text, begin }) => text === '' && !begin).length).to.be.within(3, 4);
    lab.current = container();
    lab.logs.set(id, [line('1\n', 1), line('2\n', 40)]);
    await lab.clock.pass(1_000);
    lab.failure = new EngineUnreachableFault('away');
    expect(await lab.finish()).to.deep.equal(['1\n2\n', 'engine_unreachable']);
  });

  it('sends the last lines of a container that is removed while it is followed', async () => {
    const { id } = lab.current!;
    lab.logs.set(id, [line('1\n', 1)]);
    lab.streamer.stream({ ...request, follow: true });
    await lab.clock.pass(100);
    lab.logs.set(id, [line('1\n', 1), line('2\n', 2)]);
    await lab.kept.keep({ ...container(), state: 'exited' });
    lab.logs.delete(id);
    lab.current = undefined;

    expect(await lab.finish()).to.deep.equal(['1\n2\n', 'container_gone']);
  });

  it('sends what is kept of a container that the engine is about to remove', async () => {
    const { id } = lab.current!;
    lab.logs.set(id, [line('1\n', 1)]);
    await lab.kept.keep({ ...container(), state: 'exited' });
    lab.refusal = new EngineRefusedFault(409, 'can not get logs from container which is dead or marked for removal');
    lab.streamer.stream(request);
    expect(await lab.finish()).to.deep.equal(['1\n', 'container_gone']);
  });

  it('continues a position of an earlier container with its last lines, then with the current one', async () => {
    const { id } = lab.current!;
    lab.logs.set(id, [line('1\n', 1), line('2\n', 2), line('3\n', 3)]);
    await lab.kept.keep({ ...container(), state: 'exited' });
    lab.current = container('d2'.repeat(32));
    lab.logs = new Map([[lab.current.id, [line('4\n', 4)]]]);
    const after = `${id}:stdout:0000000001.000000000:1`;
    lab.streamer.stream({ ...request, after });
    expect(await lab.finish()).to.deep.equal(['2\n3\n4\n', 'complete']);

    lab.sent.length = 0;
    lab.streamer.stream({ ...request, id: 'log_2', after: after.replace(id, 'e3'.repeat(32)) });
    expect(await lab.finish()).to.deep.equal(['4\n', 'complete']);
    expect(lab.sent.some(({ gap }) => gap)).to.equal(true);
  });

  it('sends the log of a removed container, marked as such, and only where it is kept', async () => {
    lab.streamer.streamKept({ ...request, replica: '' });
    expect(await lab.finish()).to.deep.equal(['', undefined]);
    lab.logs.set(lab.current!.id, [line('1\n', 1), line('2\n', 2)]);
    await lab.kept.keep({ ...container(), state: 'exited' });
    lab.current = undefined;
    for (const send of ['stream', 'streamKept'] as const) {
      lab.sent.length = 0;
      lab.streamer[send]({ ...request, id: send, tail: 1 });
      expect(await lab.finish()).to.deep.equal(['2\n', 'complete']);
      expect(lab.sent[0]?.begin?.removedAt).to.match(/^\d{4}-/);
    }
    lab.sent.length = 0;
    lab.streamer.streamKept({ ...request, id: 'other', after: `${'e3'.repeat(32)}:stdout:0000000001.000000000:1` });
    expect(await lab.finish()).to.deep.equal(['', undefined]);
  });

  it('reads no longer than its reader listens', async () => {
    lab.logs.set(lab.current!.id, []);
    let reads = 0;
    const get = lab.logs.get.bind(lab.logs);
    lab.logs.get = id => {
      reads++;
      return get(id);
    };
    lab.streamer.stream({ ...request, follow: true });
    await lab.clock.pass(2_000);
    lab.stop.abort();
    await lab.clock.pass(2_000);
    const before = reads;
    await lab.clock.pass(20_000);
    expect([before > 0, reads]).to.deep.equal([true, before]);
  });

  it('declines a stream above the maximum, and accepts another when one has ended', async () => {
    lab.isBusy = true;
    for (let at = 1; at <= 65; at++) lab.streamer.stream({ ...request, id: `log_${at}` });
    lab.streamer.stream({ ...request, id: 'log_1' });

    expect([lab.ends.length, lab.declined]).to.deep.equal([64, ['log_65']]);
    lab.ends[0]?.();
    await new Promise(resolve => setImmediate(resolve));
    lab.streamer.stream({ ...request, id: 'log_66' });

    expect([lab.ends.length, lab.declined]).to.deep.equal([65, ['log_65']]);
  });
});
