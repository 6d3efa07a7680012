import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { ranges } from '../crds/keys/index.js';
import { findFreePort } from '../dev/processes/index.js';
import { until } from '../dev/testing/index.js';
import { SimulatedEngine } from '../pkg/agent/index.js';
import { systemClock, systemRandom } from '../pkg/clock/index.js';
import { silentLogger } from '../pkg/log/index.js';
import { MemoryStore } from '../pkg/store/index.js';
import { type CollectedSpan, Collector } from '../pkg/trace/collector.testing.js';
import { type InMemoryMooring, type InMemoryOptions, startInMemory } from './in-memory.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${CALLER}-01`;
const SECRET = 'hunter2-of-the-test';

describe('a trace through API, loops and agent', () => {
  const env = { clock: systemClock, random: systemRandom };
  let folder: string;
  let collector: Collector;
  let store: MemoryStore;
  let mooring: InMemoryMooring;

  const start = async (options: Pick<InMemoryOptions, 'traceEndpoint' | 'traceRatio'> = {}) => {
    store = new MemoryStore({ clock: systemClock });
    const engine = new SimulatedEngine({ ...env, healthyAfterMs: 10 });
    const parts = { ...env, log: silentLogger, engine, store, folder, nodes: 1, port: await findFreePort() };
    mooring = await startInMemory({ ...parts, ...options });
  };
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'moor-tracing-'));
    collector = await new Collector().listen();
  });
  afterEach(async () => {
    await mooring.stop();
    await collector.close();
    rmSync(folder, { recursive: true });
  });

  const send = async (method: string, path: string, body?: object, trace: object = { traceparent }) => {
    const response = await fetch(`${mooring.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${mooring.access.tenantToken}`,
        ...trace,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const image = 'registry.example.com/web:1.0.0';
  const web = { kind: 'Deployment', name: 'web', image, replicas: 1 };
  const isReady = async (name: string) => {
    const response = await fetch(`${mooring.url}/api/v1/deployments/${name}`, {
      headers: { authorization: `Bearer ${mooring.access.tenantToken}`, traceparent: `00-${TRACE}-${CALLER}-00` },
    });
    return /"readyReplicas":1\b/.test(await response.text());
  };
  /** What is stored of requests and of what follows from them. */
  const readRecords = async () => {
    const pages = [ranges.deployments, ranges.replicas, ranges.jobs].map(range => store.page(range, { limit: 100 }));
    return (await Promise.all(pages)).flatMap(({ entries }) => entries.map(({ bytes }) => bytes.toString()));
  };
  const find = (name: string) => collector.spans.filter(span => span.name === name);
  /** Processes send their spans on their own, in any order. */
  const untilFound = (...names: readonly string[]) =>
    until(`spans of ${names.join(', ')}`, () => names.every(name => find(name).length > 0));
  const untilFollowed = async (request: string, name: string) => {
    await untilFound(request);
    const { spanId } = find(request)[0]!;
    await until(`${name} below ${request}`, () => find(name).some(each => each.parentSpanId === spanId));
  };
  const attribute = ({ attributes }: CollectedSpan, name: string) =>
    attributes.find(({ key }) => key === name)?.value.stringValue;

  it('is one, and each part says what it follows from', async () => {
    await start({ traceEndpoint: collector.url });
    const reference = { name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', rotation: 'restart' };
    const created = await send('POST', '/api/v1/deployments', {
      ...web,
      healthCheck: { type: 'exec', command: ['true'] },
      secrets: [{ ...reference, values: { password: SECRET } }],
    });
    expect(created.status, created.text).to.equal(201);
    await until('the deployment is ready', () => isReady('web'));
    const loops = ['replica-keeper', 'scheduler', 'secret-resolver', 'status-roller'];
    await untilFound('POST /api/v1/deployments', 'start container', ...loops.map(loop => `reconcile ${loop}`));

    const [request] = find('POST /api/v1/deployments');
    expect(request).to.include({ service: 'mooring-server', traceId: TRACE, parentSpanId: CALLER });
    expect(request!.kind).to.equal(2);
    for (const part of ['admission', 'commit']) {
      const below = find(part).filter(({ parentSpanId }) => parentSpanId === request!.spanId);
      expect(below, part).to.have.length(1);
      expect(below[0]).to.include({ service: 'mooring-server' });
    }
    for (const loop of loops) {
      const [span] = find(`reconcile ${loop}`);
      expect(span, loop).to.include({ service: 'mooring-controllers', parentSpanId: request!.spanId });
      expect(attribute(span!, 'mooring.deployment')).to.equal('web');
    }
    const [container, ...others] = find('start container');
    expect(others).to.deep.equal([]);
    expect(container).to.include({ service: 'mooring-agent', parentSpanId: request!.spanId });
    expect(container!.status).to.deep.equal({});
    for (const step of ['pull', 'create', 'start']) {
      expect(find(step).at(-1), step).to.include({ service: 'mooring-agent', parentSpanId: container!.spanId });
    }
    // Requests that enrolled the node have traces of their own.
    const caused = collector.spans.filter(({ service }) => service !== 'mooring-server');
    expect(new Set(caused.map(({ traceId }) => traceId))).to.deep.equal(new Set([TRACE]));
    expect(collector.requests.map(({ text }) => text).join()).to.not.contain(SECRET);
  });

  it('goes on with a job, and with the request that deletes, not with the one that created', async () => {
    await start({ traceEndpoint: collector.url });
    await send('POST', '/api/v1/jobs', { kind: 'Job', name: 'once', image });
    await untilFound('POST /api/v1/jobs', 'reconcile job-runner');
    expect(find('reconcile job-runner')[0]!.parentSpanId).to.equal(find('POST /api/v1/jobs')[0]!.spanId);
    await send('DELETE', '/api/v1/jobs/once');
    await untilFollowed('DELETE /api/v1/jobs/{name}', 'reconcile job-runner');

    await send('POST', '/api/v1/deployments', web);
    await until('the deployment is ready', () => isReady('web'));
    await send('DELETE', '/api/v1/deployments/web');
    await untilFollowed('DELETE /api/v1/deployments/{name}', 'reconcile replica-keeper');
  });

  it('begins as often as the ratio says, where the caller says nothing', async () => {
    await start({ traceEndpoint: collector.url, traceRatio: '0' });
    const { status } = await send('POST', '/api/v1/jobs', { kind: 'Job', name: 'once', image }, {});
    expect(status).to.equal(201);
    expect((await readRecords()).join())
      .to.contain('once')
      .and.not.match(/trace/i);
  });

  it('leaves no mark in a record while tracing is off', async () => {
    await start();
    await send('POST', '/api/v1/deployments', web);
    await send('POST', '/api/v1/jobs', { kind: 'Job', name: 'once', image });
    await until('the deployment is ready', () => isReady('web'));
    const records = await readRecords();
    expect(records.length).to.be.above(2);
    expect(records.join()).to.not.match(/trace/i);
    expect(collector.requests).to.deep.equal([]);
  });
});
