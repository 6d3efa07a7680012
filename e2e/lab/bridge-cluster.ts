import { readdirSync, readFileSync } from 'node:fs';

import { parse, parseAllDocuments } from 'yaml';

import { askCluster, type ClusterAccess, FakeKubernetes, KubeApiserver } from '../../dev/kubernetes/index.js';
import { until } from '../../dev/testing/index.js';

/** A cluster that bridges of a lab have their objects in. */
export interface BridgeCluster {
  /** Of its users. */
  readonly users: ClusterAccess;
  /** Of a bridge in a namespace: what it may do there, and no more. */
  readonly bridge: (namespace: string) => ClusterAccess;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Makes a namespace, with the role of the guide in it. */
  open(namespace: string): Promise<void>;
  /** Nobody answers any more. */
  kill(): Promise<void>;
  restart(): Promise<void>;
}

export function standInCluster(): BridgeCluster {
  const token = 'cluster-token';
  const cluster = new FakeKubernetes({ token });
  const access = () => ({ url: cluster.url, token });
  return {
    get users() {
      return access();
    },
    bridge: access,
    start: async () => void (await cluster.start()),
    stop: () => cluster.stop(),
    open: async () => undefined,
    kill: () => cluster.stop(),
    restart: async () => void (await cluster.start()),
  };
}

/** A kube-apiserver with our definitions. Bridges have the role of the guide, and are refused what it does not have. */
export function realCluster(namespaces: readonly string[]): BridgeCluster {
  const toToken = (namespace: string) => `bridge-of-${namespace}`;
  const users = namespaces.map(each => [toToken(each), `system:serviceaccount:${each}:mooring-bridge`]);
  const server = new KubeApiserver(Object.fromEntries(users) as Record<string, string>);
  const create = async (path: string, body: object) => {
    const { status, body: answer } = await askCluster<object>(server, 'POST', path, body);
    if (status !== 201) throw new Error(`POST ${path} was answered ${status}: ${JSON.stringify(answer)}`);
  };
  return {
    users: server,
    bridge: namespace => ({ url: server.url, token: toToken(namespace) }),
    async start() {
      await server.start();
      for (const definition of readDefinitions()) {
        await create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
        const { plural } = definition.spec.names;
        await until(`${plural} to be served`, async () => {
          const { status } = await askCluster(server, 'GET', `/apis/mooring.io/v1/${plural}`);
          return status === 200;
        });
      }
    },
    stop: () => server.stop(),
    async open(namespace) {
      await create('/api/v1/namespaces', { metadata: { name: namespace } });
      for (const { kind, ...object } of readRoles(namespace)) {
        const plural = `${kind.toLowerCase()}s`;
        await create(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/${plural}`, object);
      }
    },
    kill: () => server.kill(),
    restart: () => server.restart(),
  };
}

interface Definition {
  readonly spec: { readonly names: { readonly plural: string } };
}

function readDefinitions(): readonly Definition[] {
  const folder = 'crds/manifests';
  const files = readdirSync(folder).filter(name => name.endsWith('.yaml'));
  return files.map(name => parse(readFileSync(`${folder}/${name}`, 'utf8')) as Definition);
}

/** The role and its binding that the guide tells one to apply, for another namespace than its own. */
function readRoles(namespace: string): readonly { readonly kind: string }[] {
  const page = readFileSync('docs/how-to/kubernetes-bridge.md', 'utf8');
  const [, written = ''] = /<<END\n(apiVersion: rbac[\s\S]*?)\nEND\n/.exec(page) ?? [];
  const text = written.replaceAll('namespace: team', `namespace: ${namespace}`);
  const all = parseAllDocuments(text).map(each => each.toJS() as { readonly kind: string });
  return all.filter(({ kind }) => kind !== 'ServiceAccount');
}
