import { buildDemoImage, ensureEtcdCertificates, EtcdProcess, isFreePort, RegistryProcess } from '../programs/index.js';
import { systemRandom } from '../../pkg/clock/index.js';
import { type RegistryLogin, RegistryLogins } from '../../pkg/registry/index.js';
import type { Home } from '../home/home.js';
import type { TaskPart, ProcessPart } from './part.js';
import { choosePort, startOnPort } from './program.js';
import { adviseInstall } from '../home/wording.js';

/**
 * The store of the all-in-one: one private etcd on loopback, which every user of this machine can reach, so it demands a
 * client certificate. It keeps its port, so that no other part must be restarted with it.
 */
export const etcdPart: ProcessPart = {
  kind: 'process',
  name: 'etcd',
  title: 'etcd, the store',
  remedy: `${adviseInstall('etcd', 'etcd-server')}, or read the log.`,
  graceMs: 10_000,
  recipe: () => 'with certificates',
  maintain: ({ home, clock }) => void ensureEtcdCertificates(findEtcdCertificates(home), clock),
  async start({ home, clock, previous }) {
    const certificates = findEtcdCertificates(home);
    const options = { dataDir: home.path('etcd'), logFile: home.log('etcd'), certificates, detached: true, clock };
    const [clientPort, peerPort] = await Promise.all(
      ['etcdPort', 'etcdPeerPort'].map(async name => {
        const port = Number(previous[name] ?? 0);
        return port > 0 && (await isFreePort(port)) ? port : undefined;
      }),
    );
    const kept = { ...(clientPort && { clientPort }), ...(peerPort && { peerPort }) };
    const etcd = await EtcdProcess.start({ ...options, ...kept });
    home.settings.write({ ...etcd.access, keyFile: home.path('keys') });
    const facts = { etcd: etcd.endpoint, etcdPort: String(etcd.port), etcdPeerPort: String(etcd.peerPort) };
    return { pid: etcd.pid!, facts, detail: etcd.endpoint };
  },
};

function findEtcdCertificates(home: Home): string {
  return home.path('certificates', 'etcd');
}

/** The port that the examples name. */
export const USUAL_REGISTRY = '127.0.0.1:7071';

const USUAL_PORT = 7071;
const DEMO_TAG = '1.0.0';

/** An image registry on loopback, so that nothing is fetched from elsewhere. Who has no login neither reads nor writes. */
export const registryPart: ProcessPart = {
  kind: 'process',
  name: 'registry',
  title: 'image registry',
  remedy: `${adviseInstall('docker-registry', 'docker-registry')}, or read the log.`,
  graceMs: 5_000,
  recipe: () => 'with a login',
  async start({ home, previous }) {
    const wanted = [Number(previous['registryPort'] ?? 0), USUAL_PORT];
    return startOnPort(
      () => choosePort(wanted),
      async port => {
        const login = openLogin(home, `127.0.0.1:${port}`);
        const registry = await RegistryProcess.start({ folder: home.path('registry'), port, login, detached: true });
        const facts = { registry: registry.address, registryPort: String(port) };
        const moved = port === USUAL_PORT ? '' : ` (${USUAL_PORT} is taken by another program)`;
        return { pid: registry.pid!, facts, detail: `${registry.address}${moved}` };
      },
    );
  },
};

/**
 * The login for the registry of this home, in a file for the engine and for Docker's own command
 * (`docker --config <home>/registry push …`). The password is made once, at random.
 */
function openLogin(home: Home, registry: string): RegistryLogin {
  const stored = home.registryLogins.read()?.auths ?? {};
  const auth = Object.values(stored)[0]?.auth ?? btoa(`mooring:${systemRandom.bytes(24).toString('base64url')}`);
  home.registryLogins.write({ auths: { [registry]: { auth } } });
  return new RegistryLogins(home.registryLogins.path()).find(registry)!;
}

/** The image of the demo and of the examples, built from this machine's busybox. */
export const demoImagePart: TaskPart = {
  kind: 'chore',
  name: 'demo-image',
  title: 'demo image',
  remedy: `${adviseInstall('busybox-static', 'busybox-static')}.`,
  recipe: ({ registry }) => JSON.stringify({ registry }),
  async run({ home, facts }) {
    const login = openLogin(home, facts['registry']!);
    const image = await buildDemoImage(facts['registry']!, { tag: DEMO_TAG, login });
    return { facts: { demoImage: image }, detail: image };
  },
};
