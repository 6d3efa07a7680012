import { expect } from 'chai';

import type { StreamAnswer } from '../../pkg/client/index.js';
import { readDocuments } from '../../pkg/ndjson/index.js';
import { itDeep, until } from '../../dev/testing/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { type EnrolledMachine, Fleet } from '../lab/fleet.js';
import { TenantClient } from '../lab/tenant-client.js';

interface Frame {
  readonly type: string;
  readonly cursor: string | null;
  readonly text?: string;
  readonly reason?: string;
}

/** Prints numbered lines, and a last one when it is stopped. */
const entrypoint = (rest: string) => [
  '/bin/sh',
  '-c',
  `trap 'echo bye; exit 0' TERM; n=0; while true; do n=$((n+1)); echo "line $n"; ${rest} done`,
];

describe('the log of a deployment', function () {
  let plane: ControlPlane;
  let fleet: Fleet;
  let shop: TenantClient;
  let machine: EnrolledMachine;
  let image: string;

  before(async () => {
    plane = await ControlPlane.start();
    fleet = await Fleet.start(plane);
    shop = await TenantClient.open(plane, 'shop');
    machine = await fleet.enrol(shop.client, 'shop-1');
    image = await fleet.image('1');
  });
  after(async () => {
    await fleet?.stop();
    await plane?.stop();
  });

  /** Reads a log with the cursor of each line, and goes on after the last one whenever the stream ends, until stopped. */
  class Tail {
    readonly texts: string[] = [];
    readonly types: string[] = [];
    opened = 0;
    cursor: string | undefined;
    readonly #stop = new AbortController();
    readonly #running: Promise<void>;

    constructor(name: string) {
      this.#running = this.#run(name);
    }

    async #run(name: string): Promise<void> {
      const { signal } = this.#stop;
      while (!signal.aborted) {
        try {
          const query = { follow: true, replica: 0, after: this.cursor };
          const answer = await read(name, query, signal);
          if (!answer.ok) await new Promise(resolve => setTimeout(resolve, 200));
          else {
            this.opened++;
            for await (const frame of readDocuments(answer.body)) this.#take(frame as Frame);
          }
        } catch {
          await new Promise(resolve => setTimeout(resolve, 100)); // the server or the connection is gone
        }
      }
    }

    #take({ type, cursor, text = '' }: Frame): void {
      this.types.push(type);
      if (cursor !== null) this.cursor = cursor;
      if (type === 'line') this.texts.push(text);
    }

    get lines(): readonly string[] {
      return this.texts.join('').split('\n').slice(0, -1);
    }

    async stop(): Promise<void> {
      this.#stop.abort();
      await this.#running;
    }
  }

  const read = (
    name: string,
    query: Record<string, string | number | boolean | undefined>,
    signal?: AbortSignal,
  ): Promise<StreamAnswer> =>
    shop.client.stream(`/api/v1/deployments/${name}/logs`, {
      query,
      headers: { accept: 'application/x-ndjson' },
      signal,
      timeoutMs: 30_000,
    });
  const readAll = async (name: string, query: Record<string, string | number | boolean | undefined> = {}) => {
    const answer = await read(name, query);
    if (!answer.ok) return { code: answer.rejections[0]?.code, text: '', end: undefined, frames: [] as Frame[] };
    const frames: Frame[] = [];
    for await (const frame of readDocuments(answer.body)) frames.push(frame as Frame);
    const text = frames.map(frame => frame.text ?? '').join('');
    return { code: undefined, text, end: frames.at(-1)?.reason, frames };
  };
  /** Follows a log of which `text` was read, and gives why it ended, later. */
  const followFrom = async (name: string, text: string): Promise<{ readonly end: Promise<string | undefined> }> => {
    const frames = await until('the log to be followed', async () => {
      const answer = await read(name, { follow: true });
      return answer.ok && readDocuments(answer.body)[Symbol.asyncIterator]();
    });
    let last = (await frames.next()).value as Frame | undefined;
    while (last && last.text !== text) last = (await frames.next()).value as Frame | undefined;
    expect(last?.text).to.equal(text);
    const readEnd = async () => {
      for (let next = await frames.next(); !next.done; next = await frames.next()) last = next.value as Frame;
      return last?.reason;
    };
    return { end: readEnd() };
  };
  const numbered = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}`);
  const numberOf = (line: string | undefined) => Number(line?.split(' ')[1] ?? 0);

  itDeep(
    'repeats and drops no line over kills of the API server, of the agent and of the container, and over its replacement',
    async () => {
      // The replacement comes into the slot of the old one, and not beside it.
      const rollout = { maxSurge: 0, maxUnavailable: 1 };
      await shop.apply({ name: 'counter', image, entrypoint: entrypoint('sleep 0.01;'), rollout });
      await shop.reaches('counter', 'Running');
      const tail = new Tail('counter');
      const grows = async (why: string) => {
        const before = tail.lines.length;
        await until(`lines ${why}`, () => tail.lines.length > before + 20);
      };
      // What was under way before a kill may still be read after it: only a stream that was opened since says that it was resumed.
      const resumes = async (times: number, why: string) => {
        await until(`the log to be opened ${why}`, () => tail.opened > times);
        await grows(why);
      };
      await resumes(0, 'to begin');
      await plane.api.restart('SIGKILL');
      await plane.serving();
      await resumes(1, 'after the server was killed');
      await machine.agent.restart('SIGKILL');
      await resumes(2, 'after the agent was killed');
      const [{ id } = { id: '' }] = await fleet.view.running('counter');
      await fleet.view.kill(id);
      await grows('after the container was killed');
      const whole = (await fleet.view.log(id)).split('\n');
      const seen = tail.lines;
      expect(seen.length).to.be.greaterThan(80);
      expect(seen).to.deep.equal(whole.slice(0, seen.length));

      // Everything of the old container comes first, its last line included.
      await shop.change('counter', { environment: { ROUND: '2' } });
      await until('the replacement to be read', () => tail.lines.includes('bye'));
      await grows('of the replacement');
      await tail.stop();
      const last = tail.lines.indexOf('bye');
      const run = tail.lines.slice(tail.lines.lastIndexOf('line 1', last), last);
      expect(run).to.deep.equal(numbered(1, run.length));
      expect(tail.lines.slice(last + 1)).to.deep.equal(numbered(1, tail.lines.length - last - 1));
      expect(tail.types).not.to.include('gap');

      const previous = (await readAll('counter', { previous: true, replica: 0 })).text.split('\n').slice(0, -1);
      expect(previous).to.deep.equal(tail.lines.slice(last + 1 - previous.length, last + 1));
      await shop.remove('counter');
    },
  );

  itDeep('repeats and drops no line while the engine rotates it', async () => {
    // 21 MB in files of 10 MB, of which the engine keeps three.
    const wide = `echo "line $n ${'x'.repeat(950)}" >&2;`;
    const script = `n=0; while [ $n -lt 21000 ]; do n=$((n+1)); ${wide} done; echo end >&2; sleep 1000`;
    await shop.apply({ name: 'chatty', image, entrypoint: ['/bin/sh', '-c', script] });
    const tail = new Tail('chatty');
    await until('the end', () => tail.texts.at(-1) === 'end\n', 180_000);
    await tail.stop();
    const numbers = tail.lines.slice(0, -1).map(numberOf);
    expect(numbers).to.deep.equal(Array.from({ length: 21_000 }, (_, at) => at + 1));
    expect(tail.types).not.to.include('gap');
    await shop.remove('chatty');
  });

  it('is read since a time, and by its last lines; another time is refused', async () => {
    await shop.apply({ name: 'slow', image, entrypoint: entrypoint('sleep 1;') });
    await shop.reaches('slow', 'Running');
    await until('a few lines', async () => (await readAll('slow')).frames.length > 5);
    const all = (await readAll('slow')).frames.filter(({ type }) => type === 'line') as (Frame & { at: string })[];
    const third = all[2]!;
    const later = await readAll('slow', { since: third.at });
    expect(later.text.split('\n')[0]).to.equal('line 3');
    expect((await readAll('slow', { since: '1h' })).text.split('\n')[0]).to.equal('line 1');
    expect((await readAll('slow', { tail: 0 })).text).to.equal('');
    expect((await readAll('slow', { tail: 2 })).text.split('\n')).to.have.length(3);
    expect((await readAll('slow', { after: third.cursor! })).text.split('\n')[0]).to.equal('line 4');
    for (const query of [{ since: 'yesterday' }, { since: '' }, { after: 'x' }, { follow: true, previous: true }]) {
      expect((await readAll('slow', query)).code, JSON.stringify(query)).to.equal('query_parameter_invalid');
    }
    await shop.remove('slow');
  });

  itDeep('is refused with the reason while nothing can be read', async () => {
    await shop.apply({ name: 'unplaced', image, placement: { constraints: [{ key: 'no', operator: 'Exists' }] } });
    await until('the replica', async () => (await readAll('unplaced')).code === 'logs_replica_not_placed');
    await shop.apply({ name: 'stopped', image });
    await shop.reaches('stopped', 'Running');
    await until('its first line', async () => (await readAll('stopped')).text.startsWith('demo 1 listens'));
    await shop.change('stopped', { replicas: 0 });
    await shop.reaches('stopped', 'Stopped');
    const ended = await readAll('stopped');
    expect(ended.text, 'the last container is still read').to.match(/^demo 1 listens/);
    expect(ended.frames[0]?.type).to.equal('removed');

    await shop.remove('stopped');
    await until(
      'the kept log to go with its deployment',
      async () => !(await keptFiles()).some(name => name.includes('ended-log')),
      90_000,
    );
  });

  const keptFiles = async () => {
    const { readdir } = await import('node:fs/promises');
    return readdir(`${plane.folder}/agent-shop-1`);
  };

  itDeep('ends with the reason when the engine hangs, or the agent is gone in the middle', async () => {
    await shop.apply({ name: 'silent', image, entrypoint: ['/bin/sh', '-c', 'echo once; sleep 1000'] });
    await shop.reaches('silent', 'Running');
    const first = await followFrom('silent', 'once\n');
    process.kill(fleet.engine.pid!, 'SIGSTOP');
    try {
      expect(await first.end).to.equal('engine_unreachable');
      expect((await readAll('silent')).code).to.equal('logs_engine_unreachable');
    } finally {
      process.kill(fleet.engine.pid!, 'SIGCONT');
    }
    await until('the engine to answer', async () => (await readAll('silent')).text === 'once\n');
    const second = await followFrom('silent', 'once\n');
    await machine.agent.kill('SIGKILL');
    expect(await second.end).to.equal('node_lost');
    expect(['logs_unavailable', 'logs_node_silent']).to.include((await readAll('silent')).code);
    machine.agent.start();
    await until('the agent to be back', async () => (await readAll('silent')).text === 'once\n');
  });
});
