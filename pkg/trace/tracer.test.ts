import { expect } from 'chai';

import { seededRandom } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { inSpan, type SpanContext, Tracer } from './index.js';
import { encodeSpans } from './otlp.js';
import { RecordedSpans } from './recorded-spans.testing.js';

const parent: SpanContext = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), isSampled: true };

describe('tracer', () => {
  const build = (ratio = 1) => {
    const clock = new ManualClock();
    const recorded = new RecordedSpans();
    return { clock, recorded, tracer: new Tracer({ clock, random: seededRandom(7) }, recorded, ratio) };
  };

  it('records a span when it has ended, with its parts below it', async () => {
    const { clock, recorded, tracer } = build();
    const startedAt = clock.now() * 1000;
    const span = tracer.start('POST', 'server', parent)!;
    await clock.pass(5);
    const child = span.child('commit');
    expect(recorded.spans).to.deep.equal([]);
    await clock.pass(7);
    child.end();
    span.set({ 'http.response.status_code': 201 });
    span.end({ name: 'POST /a' });

    const [commit, request] = recorded.spans;
    expect(commit).to.include({ name: 'commit', parentId: span.context.spanId, startedAt: startedAt + 5000 });
    expect(commit!.context.traceId).to.equal(parent.traceId);
    expect(request).to.include({ name: 'POST /a', parentId: parent.spanId, startedAt, endedAt: startedAt + 12_000 });
    expect(request!.attributes).to.deep.equal({ 'http.response.status_code': 201 });
  });

  it('records a span once', () => {
    const { recorded, tracer } = build();
    const span = tracer.start('a', 'internal')!;
    span.end();
    span.end({ isFailed: true });
    expect(recorded.spans.map(({ isFailed }) => isFailed)).to.deep.equal([false]);
  });

  it('begins traces of their own without a parent', () => {
    const { tracer } = build();
    const ids = [1, 2].map(() => tracer.start('a', 'internal')!.context.traceId);
    expect(new Set(ids).size).to.equal(2);
    for (const id of ids) expect(id).to.match(/^[0-9a-f]{32}$/);
  });

  it('leaves the choice to where the trace began', () => {
    expect(build(0).tracer.start('a', 'server', parent)).to.not.equal(undefined);
    expect(build(1).tracer.start('a', 'server', { ...parent, isSampled: false })).to.equal(undefined);
  });

  it('records as many traces as it is told to', () => {
    const started = (ratio: number) => {
      const { tracer } = build(ratio);
      return Array.from({ length: 1000 }, () => tracer.start('a', 'server')).filter(Boolean).length;
    };
    expect([started(0), started(1)]).to.deep.equal([0, 1000]);
    expect(started(0.25)).to.be.within(200, 300);
  });

  it('records work that fails by the class of its error, never by its message', async () => {
    const { recorded, tracer } = build();
    const span = tracer.start('a', 'internal')!;
    const failing = inSpan(span, 'part', () => Promise.reject(new TypeError('password=hunter2')));
    await failing.then(
      () => expect.fail('it succeeded'),
      (thrown: Error) => expect(thrown.message).to.equal('password=hunter2'),
    );
    expect(recorded.spans[0]).to.deep.include({ isFailed: true, attributes: { 'error.type': 'TypeError' } });
    expect(JSON.stringify(recorded.spans)).to.not.contain('hunter2');
  });

  it('does work without a span where there is none', async () => {
    expect(await inSpan(undefined, 'part', span => Promise.resolve(span))).to.equal(undefined);
  });
});

describe('OTLP as JSON', () => {
  it('has ids in hexadecimal, times and whole numbers as texts, and numbers for kinds', async () => {
    const recorded = new RecordedSpans();
    const clock = new ManualClock();
    const tracer = new Tracer({ clock, random: seededRandom(1) }, recorded, 1);
    const span = tracer.start('GET', 'server', parent)!;
    span.set({ 'http.route': '/a', 'http.response.status_code': 503 });
    const part = span.child('part');
    await clock.pass(0.25);
    part.end();
    span.end({ isFailed: true });

    const resource = { service: 'mooring-server', version: '0.1.0', instance: 'i' };
    const nanos = `${clock.now() * 1000 - 250}000`;
    const { resourceSpans } = JSON.parse(encodeSpans(resource, recorded.spans)) as { resourceSpans: unknown[] };
    const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const end = `${clock.now() * 1000}000`;
    const common = { traceId: parent.traceId, startTimeUnixNano: nanos, endTimeUnixNano: end };
    const { spanId } = span.context;
    expect(resourceSpans).to.deep.equal([
      {
        resource: {
          attributes: [
            text('service.name', 'mooring-server'),
            text('service.version', '0.1.0'),
            text('service.instance.id', 'i'),
          ],
        },
        scopeSpans: [
          {
            scope: { name: 'mooring', version: '0.1.0' },
            spans: [
              {
                ...common,
                spanId: part.context.spanId,
                parentSpanId: spanId,
                name: 'part',
                kind: 1,
                attributes: [],
                status: {},
              },
              {
                ...common,
                spanId,
                parentSpanId: parent.spanId,
                name: 'GET',
                kind: 2,
                attributes: [
                  text('http.route', '/a'),
                  { key: 'http.response.status_code', value: { intValue: '503' } },
                ],
                status: { code: 2 },
              },
            ],
          },
        ],
      },
    ]);
  });
});
