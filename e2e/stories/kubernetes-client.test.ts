import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';

import { expect } from 'chai';

import { ApiLab } from '../../api/api-lab.testing.js';
import { until } from '../../dev/testing/index.js';
import { startStandingIn } from '../lab/standing-in.js';

describe('@kubernetes/client-node', () => {
  let lab: ApiLab;
  let token: string;
  let stopStandingIn: (() => void) | undefined;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a);
    const body = { kind: 'Deployment', name: 'api', image: 'registry.example.com/web:1', replicas: 1 };
    const made = await lab.ask('POST', '/api/v1/deployments', { token, body });
    const { uid } = made.body['metadata'] as { readonly uid: string };
    const at = new Date().toISOString();
    stopStandingIn = await startStandingIn(lab, { name: 'api', uid, at }, ['one', 'two', 'three']);
  });
  after(async () => {
    stopStandingIn?.();
    await lab.stop();
  });

  const connect = async () => {
    const client = await import('@kubernetes/client-node');
    const config = new client.KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'mooring', server: `${lab.server.url}/k8s`, skipTLSVerify: true },
      { name: 'shop', token },
    );
    return { client, config };
  };

  it('reads pods and their logs', async () => {
    const { client, config } = await connect();
    const core = config.makeApiClient(client.CoreV1Api);
    const labelSelector = 'mooring.io/deployment=api';
    const { items } = await core.listNamespacedPod({ namespace: lab.a, labelSelector });
    expect(items.map(({ metadata, status }) => [metadata?.name, status?.phase])).to.deep.equal([['api-0', 'Running']]);
    const pod = await core.readNamespacedPod({ name: 'api-0', namespace: lab.a });
    expect(pod.status?.containerStatuses?.map(({ name, ready }) => [name, ready])).to.deep.equal([['main', true]]);
    expect(await core.readNamespacedPodLog({ name: 'api-0', namespace: lab.a, tailLines: 2 })).to.equal('two\nthree\n');

    const lines = new PassThrough();
    const printed = text(lines);
    await new client.Log(config).log(lab.a, 'api-0', 'main', lines, { follow: true });
    expect(await printed).to.equal('one\ntwo\nthree\n');
  });

  it('patches objects, and is told by a watch', async () => {
    const { client, config } = await connect();
    const api = client.KubernetesObjectApi.makeApiClient(config);
    const seen: (number | undefined)[] = [];
    const path = `/apis/mooring.io/v1/namespaces/${lab.a}/deployments`;
    const abort = await new client.Watch(config).watch(
      path,
      {},
      (_type, object: { readonly spec?: { readonly replicas?: number } }) => seen.push(object.spec?.replicas),
      () => undefined,
    );
    try {
      const about = { apiVersion: 'mooring.io/v1', kind: 'Deployment', metadata: { name: 'api', namespace: lab.a } };
      const patched = await api.patch(
        { ...about, spec: { replicas: 3 } } as object,
        undefined,
        undefined,
        undefined,
        undefined,
        client.PatchStrategy.MergePatch,
      );
      expect((patched as { readonly spec?: { readonly replicas?: number } }).spec?.replicas).to.equal(3);
      await until('the watch to tell it', () => seen.includes(3));
    } finally {
      abort.abort();
    }
  });
});
