import type { ServerResponse } from 'node:http';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';
import { type Clock, systemClock, systemRandom } from '../clock/index.js';
import { InvalidSettingFault } from '../config/index.js';
import { type Logger, silentLogger } from '../log/index.js';
import { createMetrics } from '../metrics/index.js';
import { Collector } from './collector.testing.js';
import { type ExporterOptions, SpanExporter } from './exporter.js';
import { openTracer, Tracer } from './index.js';

/** Ten times as fast as the machine's, so that nobody waits for a back-off. */
const hasty: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms / 10, fire) };

describe('span exporter', () => {
  let collector: Collector;
  let warnings: string[];
  beforeEach(async () => {
    warnings = [];
    collector = await new Collector().listen();
  });
  afterEach(() => collector.close());

  const log: Logger = { ...silentLogger, warn: message => void warnings.push(message) };

  const open = (options: Partial<ExporterOptions> = {}, clock = hasty) => {
    const url = `${collector.url}/v1/traces`;
    const fates = { sent: 0, refused: 0, dropped: 0 };
    const env = { clock, random: systemRandom, log, count: (fate: keyof typeof fates) => void fates[fate]++ };
    const resource = { service: 'test', version: '1', instance: 'i' };
    const exporter = new SpanExporter(env, { url, resource, gatherMs: 50, timeoutMs: 600_000, ...options });
    const tracer = new Tracer(env, exporter, 1);
    const record = (count: number) => {
      for (let number = 1; number <= count; number++) tracer.start(`span ${number}`, 'internal')!.end();
    };
    return { tracer, fates, record };
  };

  it('sends the spans of some time together, as OTLP', async () => {
    const { tracer, fates, record } = open();
    record(3);
    await until('the spans are sent', () => fates.sent === 3);
    expect(collector.requests.map(({ path, type }) => [path, type])).to.deep.equal([
      ['/v1/traces', 'application/json'],
    ]);
    expect(collector.spans.map(({ name }) => name)).to.deep.equal(['span 1', 'span 2', 'span 3']);
    await tracer.close();
  });

  it('sends many spans in several requests', async () => {
    const { tracer, fates, record } = open();
    record(1200);
    await until('the spans are sent', () => fates.sent === 1200);
    expect(collector.requests.length).to.equal(3);
    await tracer.close();
  });

  it('sends spans that arrive during a request later, with those that follow', async () => {
    const gathered: (() => void)[] = [];
    const gatherMs = 123;
    const after: Clock['after'] = (ms, fire) =>
      ms === gatherMs ? (gathered.push(fire), () => undefined) : hasty.after(ms, fire);
    const held: ServerResponse[] = [];
    collector.answer = response => void held.push(response);
    const { tracer, fates, record } = open({ gatherMs }, { ...hasty, after });
    record(1);
    gathered.shift()!();
    await until('a request is under way', () => held.length === 1);
    record(1);
    held[0]!.end();
    await until('spans are gathered again', () => gathered.length === 1);
    record(3);
    gathered.shift()!();
    await until('the others are sent', () => held.length === 2);
    held[1]!.end();
    await until('all are sent', () => fates.sent === 5);
    expect([collector.requests.length, gathered.length]).to.deep.equal([2, 0]);
    await tracer.close();
  });

  it('sends what is left when it is closed', async () => {
    const { tracer, fates, record } = open({ gatherMs: 3_600_000, closeMs: 600_000 });
    record(600);
    await tracer.close();
    expect(fates).to.deep.equal({ sent: 600, refused: 0, dropped: 0 });
    expect(collector.spans.length).to.equal(600);
  });

  it('keeps a bounded number of spans for a collector that hangs, and ends all the same', async () => {
    collector.answer = () => undefined;
    const { tracer, fates, record } = open({ queueMax: 10, closeMs: 500 });
    record(4);
    await until('a request hangs', () => collector.requests.length === 1);
    record(20);
    expect(fates).to.deep.equal({ sent: 0, refused: 0, dropped: 14 });
    await tracer.close();
    expect(fates).to.deep.equal({ sent: 0, refused: 0, dropped: 24 });
    record(1);
    expect(fates.dropped).to.equal(25);
  });

  it('gives up on an answer that is late, and sends the spans again', async () => {
    let answered = 0;
    collector.answer = response => void (answered++ > 0 && response.end());
    const { tracer, fates, record } = open({ timeoutMs: 2_000 });
    record(1);
    await until('the span is sent', () => fates.sent === 1);
    const names = collector.spans.map(({ name }) => name);
    expect(names.length).to.be.above(1);
    expect(new Set(names)).to.deep.equal(new Set(['span 1']));
    await tracer.close();
  });

  it('waits for a collector that is gone, with one line in the log', async () => {
    const { answer } = collector;
    collector.answer = response => void response.destroy();
    const { tracer, fates, record } = open({ queueMax: 5 });
    record(8);
    await until('it was tried', () => collector.requests.length > 1);
    collector.answer = answer;
    await until('the spans are sent', () => fates.sent === 5);
    expect(fates.dropped).to.equal(3);
    expect(warnings.length).to.equal(1);
    await tracer.close();
  });

  const answers: readonly [status: number, fate: 'sent' | 'refused', requests: number][] = [
    [400, 'refused', 1],
    [404, 'refused', 1],
    [500, 'refused', 1],
    [302, 'refused', 1],
    [429, 'sent', 2],
    [503, 'sent', 2],
  ];
  for (const [status, fate, requests] of answers) {
    it(`has its spans ${fate} after ${requests} requests when the first answer is ${status}`, async () => {
      let answered = 0;
      collector.answer = response =>
        void response.writeHead(answered++ === 0 ? status : 200, { location: collector.url }).end();
      const { tracer, fates, record } = open();
      record(2);
      await until('their fate is known', () => fates[fate] === 2);
      expect([collector.requests.length, warnings.length]).to.deep.equal([requests, 1]);
      await tracer.close();
    });
  }
});

describe('opening a tracer', () => {
  const env = { clock: systemClock, random: systemRandom, log: silentLogger };
  const open = (traceEndpoint: string, traceRatio = 1) => {
    const metrics = createMetrics({ processMetrics: false });
    return openTracer('test', { traceEndpoint, traceRatio }, { ...env, metrics });
  };

  it('gives none where no collector is named', async () => {
    expect(await open('', 7)).to.equal(undefined);
  });

  for (const path of ['', '/', '/otlp', '/otlp/']) {
    it(`sends to the traces of a collector at "${path}", and counts`, async () => {
      const collector = await new Collector().listen();
      const metrics = createMetrics({ processMetrics: false });
      const settings = { traceEndpoint: `${collector.url}${path}`, traceRatio: 1 };
      const tracer = await openTracer('test', settings, { ...env, metrics });
      tracer!.start('a', 'internal')!.end();
      await tracer!.close();
      expect(collector.requests.map(each => each.path)).to.deep.equal([`${path.replace(/\/$/, '')}/v1/traces`]);
      expect(await metrics.text()).to.contain('mooring_trace_spans_total{result="sent"} 1');
      await collector.close();
    });
  }

  const refused: readonly [endpoint: string, ratio?: number][] = [
    ['collector:4318'],
    ['/v1/traces'],
    ['ftp://collector'],
    ['http://user:password@collector:4318'],
    ['http://collector:4318?token=secret'],
    ['http://collector:4318', -0.1],
    ['http://collector:4318', 1.1],
  ];
  for (const [endpoint, ratio] of refused) {
    it(`refuses ${endpoint}${ratio === undefined ? '' : ` with ${ratio}`}`, async () => {
      const error = await open(endpoint, ratio).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(InvalidSettingFault);
      expect(String(error)).to.not.match(/password@|secret/);
    });
  }
});
