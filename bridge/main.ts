/**
 * The process between a Kubernetes cluster and Mooring: `moor bridge --kubeconfig <path> --namespace <ns>=<tenant>`.
 *
 * Any number of them may run: one has the lease in the cluster, and the others stand by. SIGTERM and SIGINT end it in order.
 *
 * @module
 */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

import type { KubeConfig } from '@kubernetes/client-node';

import { findConnection, createProcessTerminal } from '../pkg/terminal/index.js';
import { Client } from '../pkg/client/index.js';
import { sleep } from '../pkg/clock/index.js';
import { InvalidSettingFault } from '../pkg/config/index.js';
import { asError } from '../pkg/fault/index.js';
import { createMetrics } from '../pkg/metrics/index.js';
import { listenForMetrics, type ProcessEnv, runProcess } from '../pkg/process/index.js';
import { KubernetesBridge, type ClientPackage, MirrorSide } from './index.js';
import {
  type BridgeFlags,
  checkApart,
  type NamespaceOption,
  readBridgeFlags,
  readNamespaces,
  readSecrets,
} from './options.js';

const LEASE_SECONDS = 15;
const RETRY_MS = 2_000;

interface NamespaceList {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

await runProcess('bridge', readBridgeFlags, async (flags, env, signal) => {
  const options = readNamespaces(flags.namespace);
  const mappings = readSecrets(flags.secret, options);
  const client = await import('@kubernetes/client-node');
  const cluster = new MirrorSide(openCluster(client, flags), client);
  const { server, token, caFile } = await findConnection(flags, createProcessTerminal());
  if (token === undefined)
    throw new InvalidSettingFault('no token is known: name one with --token-file or MOORING_TOKEN');
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
  const mooring = new MirrorSide(openFace(client, { server, token, ca }), client);
  const namespaces = await findTenants(mooring, options, env, signal);
  if (!namespaces) return;

  const metrics = createMetrics();
  const listener = flags.metricsListen === undefined ? undefined : await listenForMetrics(flags.metricsListen, metrics);
  const clients = new Map(namespaces.map(({ tenant }) => [tenant, new Client({ server, token, ca, tenant })]));
  const tenantOf = (namespace: string) => namespaces.find(each => each.namespace === namespace)!.tenant;
  const bridge = new KubernetesBridge({
    ...env,
    cluster,
    mooring,
    metrics,
    namespaces,
    connect: tenant => clients.get(tenant)!,
    secrets: mappings.map(mapping => ({ ...mapping, tenant: tenantOf(mapping.namespace) })),
    resyncSeconds: flags.resync,
    lease: {
      namespace: flags.leaseNamespace ?? namespaces.map(({ namespace }) => namespace).toSorted()[0]!,
      holder: `${hostname()}-${process.pid}-${env.random.bytes(4).toString('hex')}`,
      seconds: LEASE_SECONDS,
    },
  });
  env.log.info('bridge started', { address: server, count: namespaces.length });
  await bridge.run(signal);
  for (const each of clients.values()) each.close();
  listener?.close();
  env.log.info('bridge stopped');
});

function openCluster(client: ClientPackage, { kubeconfig, context }: BridgeFlags): KubeConfig {
  const config = new client.KubeConfig();
  try {
    if (kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(kubeconfig);
  } catch (thrown) {
    throw new InvalidSettingFault(`the kubeconfig cannot be read: ${asError(thrown).message}`);
  }
  if (context !== undefined) {
    if (!config.getContextObject(context)) throw new InvalidSettingFault(`the kubeconfig has no context ${context}`);
    config.setCurrentContext(context);
  }
  if (!config.getCurrentCluster())
    throw new InvalidSettingFault('the kubeconfig names no cluster: choose one with --context');
  return config;
}

/** Mooring answers Kubernetes' clients below `/k8s`. */
function openFace(
  client: ClientPackage,
  { server, token, ca }: { readonly server: string; readonly token: string; readonly ca: string | undefined },
): KubeConfig {
  const config = new client.KubeConfig();
  config.loadFromClusterAndUser(
    {
      name: 'mooring',
      server: `${server}/k8s`,
      // There is nothing to verify without TLS, and the package asks for it to be said.
      skipTLSVerify: server.startsWith('http:'),
      ...(ca !== undefined && { caData: Buffer.from(ca).toString('base64') }),
    },
    { name: 'mooring', token },
  );
  return config;
}

interface MappedNamespace {
  readonly namespace: string;
  readonly tenant: string;
}

/** Which tenant each namespace belongs to. Asked until Mooring answers; undefined when the process is to stop. */
async function findTenants(
  mooring: MirrorSide,
  options: readonly NamespaceOption[],
  { clock, log }: ProcessEnv,
  signal: AbortSignal,
): Promise<readonly MappedNamespace[] | undefined> {
  while (!signal.aborted) {
    try {
      return await askTenants(mooring, options);
    } catch (thrown) {
      if (thrown instanceof InvalidSettingFault) throw thrown;
      log.warn(
        'Mooring cannot be asked for the tenant of the token, retrying: check the address of its server and the token',
        { error: asError(thrown) },
      );
    }
    await sleep(clock, RETRY_MS, signal);
  }
  return undefined;
}

async function askTenants(
  mooring: MirrorSide,
  options: readonly NamespaceOption[],
): Promise<readonly MappedNamespace[]> {
  const list = await mooring.request<NamespaceList>('GET', '/api/v1/namespaces');
  const tenants = list.ok ? list.value.items.map(({ metadata }) => metadata.name) : [];
  const found = options.map(({ namespace, tenant = tenants.length === 1 ? tenants[0] : undefined }) => {
    if (tenant !== undefined) return { namespace, tenant };
    throw new InvalidSettingFault(`the token is not that of one tenant: write --namespace ${namespace}=TENANT`);
  });
  return checkApart(found);
}
