import { expect } from 'chai';

import { ApiLab, webDeployment } from '../api-lab.testing.js';
import { FaceClient } from './face-lab.testing.js';

const MERGE = 'application/merge-patch+json';
const STEPS = 'application/json-patch+json';
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
/** An object that cannot be made a text. */
const TEXTLESS = { toString: 1, valueOf: null };

describe('hostile requests to the Kubernetes face', () => {
  let lab: ApiLab;
  let client: FaceClient;
  before(async () => {
    lab = await new ApiLab().start();
    client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
    await client.ask('POST', '/api/v1/deployments', { body: webDeployment('web') });
  });
  after(() => lab.stop());

  /** Refused in the words of Kubernetes, and nothing is stored. */
  const refuses = async (method: string, path: string, options: Parameters<FaceClient['ask']>[2], about: string) => {
    const read = async () => (await client.ask('GET', client.own('deployments'))).text;
    const before = await read();
    const { status, body } = await client.ask(method, path, options);
    expect(status, about).to.be.within(400, 499);
    expect([body['kind'], body['status'], body['code']], about).to.deep.equal(['Status', 'Failure', status]);
    expect(await read(), about).to.equal(before);
  };

  const steps = (...each: readonly unknown[]) => JSON.stringify(each);
  const patches: readonly (readonly [type: string, raw: string])[] = [
    ...['', '{', 'null', '1', '"text"', '[]', '[{}]', '{"spec":1}', '{"spec":{"replicas":"many"}}'].map(
      raw => [MERGE, raw] as const,
    ),
    [MERGE, '{"metadata":{"name":"other"}}'],
    [MERGE, '{"metadata":{"namespace":"other"}}'],
    [MERGE, '{"metadata":{"labels":[1]}}'],
    [MERGE, '{"metadata":{"resourceVersion":"1"}}'],
    [MERGE, JSON.stringify({ spec: { image: TEXTLESS } })],
    [MERGE, JSON.stringify({ metadata: { name: TEXTLESS } })],
    [MERGE, '{"spec":{"__proto__":{"replicas":3}}}'],
    [MERGE, deep(20_000)],
    [MERGE, `{"spec":{"environment":${deep(900)}}}`],
    [STEPS, '{}'],
    [STEPS, steps(1, null)],
    [STEPS, steps({ op: 'explode', path: '/spec/replicas' })],
    [STEPS, steps({ op: 'replace', path: 'spec', value: 1 })],
    [STEPS, steps({ op: 'replace', path: '/spec/absent', value: 1 })],
    [STEPS, steps({ op: 'remove', path: '' })],
    [STEPS, steps({ op: 'test', path: '/spec/replicas', value: 77 })],
    [STEPS, steps({ op: 'add', path: '/__proto__/polluted', value: 1 })],
    [STEPS, steps({ op: 'move', from: '/spec', path: '/spec/inside' })],
    [STEPS, steps({ op: TEXTLESS, path: TEXTLESS, from: TEXTLESS })],
    [STEPS, JSON.stringify(Array.from({ length: 1_001 }, () => ({ op: 'test', path: '/kind', value: 'Deployment' })))],
    ['application/apply-patch+yaml', 'kind: [Deployment'],
    [
      'application/apply-patch+yaml',
      JSON.stringify({ metadata: { managedFields: Array(5_000).fill({ manager: 'm' }) } }),
    ],
    ['application/vnd.kubernetes.protobuf', 'k8s\0\xff\xff\xff\xff'],
    ['text/plain', 'replicas: 2'],
  ];
  for (const [type, raw] of patches) {
    it(`refuses the ${type} ${raw.slice(0, 60)}`, () =>
      refuses('PATCH', client.own('deployments/web'), { raw, headers: { 'content-type': type } }, raw.slice(0, 200)));
  }

  it('refuses objects that are none', async () => {
    for (const raw of ['', 'null', '[]', '{"spec":[]}', deep(20_000), '{"kind":"Job"}', '{"a":1,"a":2}', '\xff']) {
      await refuses('POST', client.own('deployments'), { raw }, raw.slice(0, 60));
      await refuses('PUT', client.own('deployments/web'), { raw }, raw.slice(0, 60));
    }
    for (const preconditions of [{ resourceVersion: TEXTLESS }, { uid: TEXTLESS }, { resourceVersion: '5' }]) {
      const about = JSON.stringify(preconditions);
      await refuses('DELETE', client.own('deployments/web'), { body: { preconditions } }, about);
    }
    for (const raw of ['{"spec":{"replicas":"2"}}', '{"spec":{"replicas":1e400}}', '[]x']) {
      const headers = { 'content-type': MERGE };
      await refuses('PATCH', client.own('deployments/web/scale'), { raw, headers }, raw);
    }
  });

  it('refuses selectors, versions, pages and forms that are none', async () => {
    const queries = [
      'labelSelector=(((((',
      `labelSelector=${'a,'.repeat(3_000)}`,
      'labelSelector=a%20in%20(b',
      'labelSelector=%00',
      'fieldSelector=spec.image=x',
      'fieldSelector=__proto__=x',
      'fieldSelector=%3D%3D',
      'limit=-1',
      'limit=1e9',
      'limit=1&limit=2',
      'continue=x',
      `continue=${Buffer.from('99999:../../nodes').toString('base64url')}`,
      `continue=${Buffer.from('1:web').toString('base64url')}`,
      'resourceVersion=x',
      'resourceVersion=-5',
      `resourceVersion=${'9'.repeat(40)}`,
      'watch=perhaps',
      'watch=true&resourceVersion=1.5',
      'watch=true&timeoutSeconds=-1',
      'watch=true&sendInitialEvents=maybe',
    ];
    for (const plural of ['own', 'core'] as const) {
      const path = plural === 'own' ? client.own('deployments') : client.core('pods');
      for (const query of queries) await refuses('GET', `${path}?${query}`, {}, `${plural} ${query.slice(0, 80)}`);
    }
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    await refuses('GET', client.core('pods?includeObject=Everything'), { headers: { accept } }, 'includeObject');
    await refuses('POST', client.own('deployments?dryRun=Some'), { body: {} }, 'dryRun');
  });
});
