import { EtcdProcess, isFreePort } from '../../dev/processes/index.js';
import type { Facts, ProcessPart } from '../part.js';

/** The store of the all-in-one: one private etcd on loopback. It keeps its ports, so that nobody else must be restarted with it. */
export const etcdPart: ProcessPart = {
  kind: 'process',
  name: 'etcd',
  title: 'etcd, where everything is kept',
  remedy: 'Run "sh hack/setup.sh up" to install etcd, or read the log.',
  graceMs: 10_000,
  recipe: () => '',
  async start({ home, clock, previous }) {
    const options = { dataDir: home.path('etcd'), logFile: home.log('etcd'), detached: true, clock };
    const etcd = await EtcdProcess.start({ ...options, ...(await portsOf(previous)) });
    const facts = { etcd: etcd.endpoint, etcdPort: String(etcd.port) };
    return { pid: etcd.pid!, facts, detail: etcd.endpoint };
  },
};

async function portsOf({ etcdPort }: Facts): Promise<{ readonly clientPort?: number }> {
  const port = Number(etcdPort ?? 0);
  return port > 0 && (await isFreePort(port)) ? { clientPort: port } : {};
}
