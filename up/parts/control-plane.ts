import { ownsPort } from '../programs/index.js';
import { toEnvironment } from '../../pkg/config/index.js';
import { type CertificateFiles, issueServer } from '../../pkg/certificates/index.js';
import { Client } from '../../pkg/client/index.js';
import { type Home, type PartFacts, toDevelopment } from '../home/home.js';
import { type PartEnv, PartFault, type ProcessPart } from './part.js';
import { startOnPort, startProgram, waitUntilServing } from './program.js';

const USUAL_PORT = 7070;

/** The API server, on its usual port where that is free. */
export const serverPart: ProcessPart = {
  kind: 'process',
  name: 'server',
  title: 'API server',
  remedy: 'Read the log; "moor down" and "moor up" start afresh.',
  graceMs: 10_000,
  recipe: ({ etcd, etcdPeerPort, registry }) => JSON.stringify({ etcd, etcdPeerPort, registry, tls: true }),
  maintain: env => void ensureServerCertificate(env),
  start({ home, clock, facts, previous, sockets }) {
    const wanted = [Number(previous['serverPort'] ?? 0), USUAL_PORT];
    return startOnPort(
      async () => (await sockets.hold('server', wanted)).port,
      async port => {
        const server = `http://127.0.0.1:${port}`;
        const tls = ensureServerCertificate({ home, clock });
        const pid = await startServer({ home, clock, facts, sockets }, port, tls);
        const access = home.tokens.read();
        if (!access)
          throw new PartFault(`${home.path('tokens.json')} is missing: the server did not write its first tokens`);
        home.development.write(toDevelopment(server, access, tls.ca));
        const moved = port === USUAL_PORT ? '' : ` (${USUAL_PORT} is taken by another program)`;
        const agentFacts = { agentServer: `https://127.0.0.1:${port}`, serverCa: tls.ca };
        return { pid, facts: { server, serverPort: String(port), ...agentFacts }, detail: `${server}${moved}` };
      },
    );
  },
};

type ServerEnv = Pick<PartEnv, 'home' | 'clock' | 'facts' | 'sockets'>;

/** Starts the process on the port that is held for it, and resolves with its id when it serves. */
async function startServer({ home, clock, facts, sockets }: ServerEnv, port: number, tls: CertificateFiles) {
  const logFile = home.log('server');
  const pid = await startProgram({
    main: 'api/main.ts',
    argv: ['--bootstrap-file', home.path('tokens.json')],
    environment: {
      ...toEnvironment(home.settings.read() ?? {}),
      MOORING_LISTEN: `127.0.0.1:${port}`,
      MOORING_RESERVED_HOST_PORTS: listReservedPorts({ ...facts, serverPort: String(port) }).join(),
      // Agents use TLS and know the authority; people use plain HTTP on the same port.
      MOORING_TLS_CERT_FILE: tls.cert,
      MOORING_TLS_KEY_FILE: tls.key,
      MOORING_TLS_CA_FILE: tls.ca,
      MOORING_PLAIN_HTTP: 'true',
      // Our own registry is on loopback, without TLS. Without a registry no image is pulled, so none is checked.
      ...(facts['registry'] === undefined
        ? { MOORING_REGISTRY_CHECK: 'false' }
        : {
            MOORING_REGISTRY_INSECURE: facts['registry'],
            MOORING_REGISTRY_LOGINS_FILE: home.registryLogins.path(),
          }),
    },
    logFile,
    socket: await sockets.hold('server', []),
  });
  const client = new Client({ server: `http://127.0.0.1:${port}`, timeoutMs: 2_000 });
  try {
    await waitUntilServing({
      pid,
      clock,
      logFile,
      serves: async () => (await client.stream('/readyz')).ok && (await ownsPort(pid, port)),
    });
    return pid;
  } catch (thrown) {
    // Another program may listen there since: then a port of its own helps.
    if (!(await ownsPort(process.pid, port))) sockets.release('server');
    throw thrown;
  } finally {
    client.close();
  }
}

/** The server reads its files again when they change. */
function ensureServerCertificate({ home, clock }: Pick<PartEnv, 'home' | 'clock'>): CertificateFiles {
  return issueServer(home.path('certificates', 'server'), ['127.0.0.1', '::1', 'localhost'], () => clock.now());
}

/** The ports that the parts listen on: no container may have them. */
export function listReservedPorts(facts: PartFacts): readonly string[] {
  return ['serverPort', 'etcdPort', 'etcdPeerPort', 'registryPort'].flatMap(name => facts[name] ?? []);
}

/** The reconcile loops. They are up when the API server reports a leader for each. */
export const controllersPart: ProcessPart = {
  kind: 'process',
  name: 'controllers',
  title: 'controllers, the reconcile loops',
  remedy: 'Read the log; "moor down" and "moor up" start afresh.',
  graceMs: 10_000,
  recipe: ({ etcd }) => JSON.stringify({ etcd }),
  async start({ home, clock, facts }) {
    const logFile = home.log('controllers');
    const pid = await startProgram({
      main: 'controllers/main.ts',
      argv: [],
      // The loops decrypt what the server encrypts, so both use the same keys.
      environment: toEnvironment(home.settings.read() ?? {}),
      logFile,
    });
    const client = new Client({ server: facts['server']!, timeoutMs: 2_000 });
    try {
      await waitUntilServing({ pid, clock, logFile, serves: () => hasLeaderForEveryLoop(client) });
    } finally {
      client.close();
    }
    return { pid, facts: {}, detail: '' };
  },
};

interface Health {
  readonly controllers: Readonly<Record<string, { readonly leader: string | boolean | null }>>;
}

async function hasLeaderForEveryLoop(client: Client): Promise<boolean> {
  const answer = await client.request<Health>('GET', '/healthz');
  const loops = answer.ok ? Object.values(answer.value.controllers) : [];
  return loops.length > 0 && loops.every(({ leader }) => Boolean(leader));
}

/** A client for the server of this home, as its development tenant. The caller closes it. */
export function openClient(home: Home, facts: PartFacts): Client {
  const development = home.development.read();
  if (!development) throw new PartFault('dev.json is missing: the server did not write its tokens');
  return new Client({ server: facts['server']!, token: development.tokens.tenant, timeoutMs: 5_000 });
}
