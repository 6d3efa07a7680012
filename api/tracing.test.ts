import { expect } from 'chai';

import type { StoredDeployment } from '../crds/deployment/index.js';
import { keys } from '../crds/keys/index.js';
import { until } from '../dev/testing/index.js';
import { systemClock, systemRandom } from '../pkg/clock/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import { openTracer, Tracer } from '../pkg/trace/index.js';
import { Collector } from '../pkg/trace/collector.testing.js';
import { RecordedSpans } from '../pkg/trace/recorded-spans.testing.js';
import { ApiLab, type LabOptions, webDeployment } from './api-lab.testing.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${CALLER}-01`;

describe('traces of requests', () => {
  let lab: ApiLab;
  let token: string;
  let recorded: RecordedSpans;

  const start = async (options: LabOptions = {}, ratio = 1) => {
    recorded = new RecordedSpans();
    const tracer = new Tracer({ clock: systemClock, random: systemRandom }, recorded, ratio);
    lab = await new ApiLab({ tracer, ...options }).start();
    token = await lab.tenantToken(lab.a);
  };
  afterEach(() => lab.stop());

  const create = (name: string, headers: Readonly<Record<string, string>> = {}) =>
    lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name), headers });

  it('have one span for a request, below that of the caller, and its parts below it', async () => {
    await start({ images: { imageFact: () => Promise.resolve('present') } });
    expect((await create('web', { traceparent })).status).to.equal(201);

    const request = 'POST /api/v1/deployments';
    expect(recorded.listParents()).to.deep.equal([
      ['registry check', 'admission'],
      ['admission', request],
      ['commit', request],
      [request, undefined],
    ]);
    const span = recorded.spans.at(-1)!;
    expect(span).to.include({ kind: 'server', parentId: CALLER, isFailed: false });
    expect(new Set(recorded.spans.map(({ context }) => context.traceId))).to.deep.equal(new Set([TRACE]));
    const { 'mooring.request': requestId, ...attributes } = span.attributes;
    expect(requestId).to.match(/^req_/);
    expect(attributes).to.deep.equal({
      'http.request.method': 'POST',
      'http.response.status_code': 201,
      'http.route': '/api/v1/deployments',
      'mooring.tenant': lab.a,
    });
    expect(recorded.spans[0]?.attributes).to.deep.equal({ 'mooring.image_check': 'present' });
  });

  it('say why a request was refused, and that this is no failure', async () => {
    await start();
    const body = webDeployment('web', { image: 'nginx' });
    const { status } = await lab.ask('POST', '/api/v1/deployments', { token, body, headers: { traceparent } });
    const { attributes, isFailed } = recorded.spans.at(-1)!;
    expect([status, attributes['http.response.status_code'], isFailed]).to.deep.equal([422, 422, false]);
    expect(attributes['mooring.rejection']).to.equal('image_required');
  });

  it('name a route as it is declared, and hold nothing of what was sent', async () => {
    await start();
    const path = '/api/v1/deployments/hunter2?password=hunter2';
    await lab.ask('GET', path, { token, headers: { traceparent, 'x-note': 'hunter2' } });
    expect(recorded.spans.at(-1)).to.include({ name: 'GET /api/v1/deployments/{name}' });
    expect(JSON.stringify(recorded.spans)).to.not.contain('hunter2');
  });

  it('begin anew where the header of the caller is none', async () => {
    await start();
    for (const header of ['nonsense', `${traceparent}, ${traceparent}`, `00-${'0'.repeat(32)}-${CALLER}-01`]) {
      expect(
        (await lab.ask('GET', '/api/v1/deployments', { token, headers: { traceparent: header } })).status,
      ).to.equal(200);
      const { context, parentId } = recorded.spans.at(-1)!;
      expect([context.traceId === TRACE, parentId]).to.deep.equal([false, undefined]);
    }
    expect(recorded.spans.length).to.equal(3);
  });

  it('are left out where the caller says so, for probes and agents, and by the ratio', async () => {
    await start();
    await lab.ask('GET', '/api/v1/deployments', { token, headers: { traceparent: `00-${TRACE}-${CALLER}-00` } });
    for (const path of ['/healthz', '/metrics', '/agent/v1/assignments']) await lab.ask('GET', path);
    expect(recorded.spans).to.deep.equal([]);
    await lab.stop();

    await start({}, 0);
    await create('web');
    expect(recorded.spans).to.deep.equal([]);
  });

  it('are left out while nobody has proven who calls, also when that is asked for', async () => {
    await start();
    const headers = { traceparent };
    const statuses: number[] = [];
    for (const path of ['/healthz', '/api/v1/nowhere', '/api/v1/deployments']) {
      statuses.push((await lab.ask('GET', path, { headers })).status);
    }
    statuses.push((await lab.ask('GET', '/api/v1/deployments', { token: `${token}x`, headers })).status);
    expect(statuses).to.deep.equal([200, 404, 401, 401]);
    expect(recorded.spans).to.deep.equal([]);
  });

  it('are left out for what is sent away because it is too much', async () => {
    await start({ settings: { rateLimitPerSecond: 0.001, rateLimitBurst: 1 } });
    const ask = () => lab.ask('GET', '/api/v1/deployments', { token, headers: { traceparent } });
    expect([(await ask()).status, (await ask()).status]).to.deep.equal([200, 429]);
    expect(recorded.spans.map(({ attributes }) => attributes['http.response.status_code'])).to.deep.equal([200]);
  });

  it('are kept with what was written, until it is written by a request that is not traced', async () => {
    await start();
    const read = async () => {
      const { bytes } = (await lab.store.get(keys.deployment(lab.a, 'web')))!;
      return (JSON.parse(bytes.toString()) as StoredDeployment).metadata;
    };
    await create('web', { traceparent });
    const { spanId } = recorded.spans.at(-1)!.context;
    const created = await read();
    expect(created.traceparent).to.equal(`00-${TRACE}-${spanId}-01`);
    const { body } = await lab.ask('GET', '/api/v1/deployments/web', { token });
    expect(body['metadata']).to.include({ traceparent: created.traceparent, specHash: created.specHash });

    const untraced = { traceparent: `00-${TRACE}-${CALLER}-00` };
    const scaled = { replicas: 3 };
    const changed = await lab.ask('PUT', '/api/v1/deployments/web', { token, body: scaled, headers: untraced });
    expect(changed.status).to.equal(200);
    expect(await read())
      .to.include({ generation: 2 })
      .and.not.have.property('traceparent');
  });

  it('do not exist while tracing is off', async () => {
    const wrote: string[] = [];
    const log = {
      ...silentLogger,
      info: (_message: string, fields: object) => void wrote.push(JSON.stringify(fields)),
    };
    await start({ tracer: undefined, log });
    const response = await create('web', { traceparent });
    expect(response.status).to.equal(201);
    expect(wrote.join()).to.contain('/api/v1/deployments').and.not.contain(TRACE);
    expect([...response.headers.keys()].filter(name => name.startsWith('trace'))).to.deep.equal([]);
    const stored = await lab.store.get(keys.deployment(lab.a, 'web'));
    expect(stored!.bytes.toString()).to.not.contain(TRACE);
  });

  it('never keep a request waiting for a collector that hangs', async () => {
    const collector = await new Collector().listen();
    collector.answer = () => undefined;
    const env = { clock: systemClock, random: systemRandom, log: silentLogger };
    const metrics = createMetrics({ processMetrics: false });
    const tracer = await openTracer(
      'mooring-server',
      { traceEndpoint: collector.url, traceRatio: 1 },
      { ...env, metrics },
    );
    await start({ tracer });
    for (let number = 0; number < 20; number++) expect((await create(`web-${number}`)).status).to.equal(201);
    await until('a request to the collector hangs', () => collector.requests.length > 0);
    expect((await create('later')).status).to.equal(201);
    await tracer!.close();
    expect(await metrics.text()).to.match(/mooring_trace_spans_total\{result="dropped"\} 6\d/);
    await collector.close();
  });
});
