import { expect } from 'chai';

import type { ApiLab as Lab } from '../../api/api-lab.testing.js';
import { findFreePort } from '../../dev/processes/index.js';
import { until } from '../../dev/testing/index.js';
import { Keyring } from '../../pkg/auth/index.js';
import { systemClock, systemRandom } from '../../pkg/clock/index.js';
import { MemoryStore } from '../../pkg/store/index.js';

const RESTARTS = 10;

interface Seen {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  readonly spec?: { readonly replicas?: number };
}

describe('an informer of @kubernetes/client-node', () => {
  it(`has exactly what is stored after the server was stopped and started ${RESTARTS} times`, async () => {
    const { KubeConfig, makeInformer, CustomObjectsApi } = await import('@kubernetes/client-node');
    const { ApiLab } = await import('../../api/api-lab.testing.js');
    const store = new MemoryStore({ clock: systemClock });
    const keyring = new Keyring([systemRandom.bytes(32)]);
    const port = await findFreePort();
    const settings = { listen: `127.0.0.1:${port}` };
    const start = () => new ApiLab({ store, keyring, settings }).start();
    let lab: Lab = await start();
    const tenant = lab.a;
    const token = await lab.tenantToken(tenant);

    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'mooring', server: `http://127.0.0.1:${port}/k8s`, skipTLSVerify: true },
      { name: 'shop', token },
    );
    const api = config.makeApiClient(CustomObjectsApi);
    const of = { group: 'mooring.io', version: 'v1', namespace: tenant, plural: 'deployments' };
    const list = async () => (await api.listNamespacedCustomObject(of)) as { items: Seen[]; metadata: object };
    const known = new Map<string, number | undefined>();
    const learn = ({ metadata, spec }: Seen) => void known.set(metadata?.name ?? '', spec?.replicas);
    const informer = makeInformer(config, `/apis/mooring.io/v1/namespaces/${tenant}/deployments`, list as never);
    informer.on('add', object => learn(object as Seen));
    informer.on('update', object => learn(object as Seen));
    informer.on('delete', object => void known.delete(object.metadata?.name ?? ''));
    let isOver = false;
    // The informer does not start again by itself when its connection breaks.
    let isWaiting = false;
    const restart = () => {
      if (isOver || isWaiting) return;
      isWaiting = true;
      setTimeout(() => {
        isWaiting = false;
        if (!isOver) informer.start().catch(restart);
      }, 100);
    };
    informer.on('error', restart);

    const web = (name: string) => ({
      kind: 'Deployment',
      name,
      image: 'registry.example.com/web:1',
      replicas: 1,
    });
    // A connection to the server before may be taken once more, and fails.
    const ask = (method: string, path: string, body?: unknown) =>
      until(`${method} ${path}`, async () => {
        const answer = await lab.ask(method, `/api/v1/deployments${path}`, {
          token,
          ...(body !== undefined && { body }),
        });
        return answer.status < 500 && answer;
      });
    try {
      await ask('POST', '', web('first'));
      await informer.start();
      for (let round = 1; round <= RESTARTS; round++) {
        await ask('POST', '', web(`round-${round}`));
        await ask('PUT', '/first', { replicas: round });
        await lab.stop();
        lab = await start();
      }
      const stored = (
        (await ask('GET', '')).body['items'] as readonly {
          name: string;
          replicas: number;
        }[]
      ).map(({ name, replicas }) => [name, replicas]);
      expect(stored).to.have.length(RESTARTS + 1);
      await until('the informer to have it all', () => {
        const seen = [...known].toSorted(([a], [b]) => (a < b ? -1 : 1));
        return JSON.stringify(seen) === JSON.stringify(stored);
      });
    } finally {
      isOver = true;
      await informer.stop();
      await lab.stop();
    }
  });
});
