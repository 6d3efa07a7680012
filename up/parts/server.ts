import { Client } from '../../pkg/client/index.js';
import { ownsPort } from '../../dev/processes/index.js';
import { developmentOf, readAccess } from '../development.js';
import { startProgram } from '../node-program.js';
import type { ProcessPart } from '../part.js';
import { choosePort } from '../port.js';
import { untilServing } from '../until-serving.js';

const USUAL_PORT = 7070;

/** The API server, on its usual port where that is free. */
export const serverPart: ProcessPart = {
  kind: 'process',
  name: 'server',
  title: 'API server',
  remedy: 'Read the log; "moor down" and "moor up" start afresh.',
  graceMs: 10_000,
  recipe: ({ etcd, registry }) => JSON.stringify({ etcd, registry }),
  async start({ home, clock, facts, previous }) {
    const port = await choosePort([Number(previous['serverPort'] ?? 0), USUAL_PORT]);
    const server = `http://127.0.0.1:${port}`;
    const logFile = home.log('server');
    const tokens = home.path('tokens.json');
    const pid = await startProgram({
      main: 'api/main.ts',
      words: ['--bootstrap-file', tokens],
      environment: {
        MOORING_ETCD_ENDPOINTS: facts['etcd']!,
        MOORING_LISTEN: `127.0.0.1:${port}`,
        MOORING_KEY_FILE: home.path('keys'),
        ...registryEnvironment(facts['registry']),
      },
      logFile,
    });
    const client = new Client({ server, timeoutMs: 2_000 });
    try {
      await untilServing({
        pid,
        clock,
        logFile,
        serves: async () => (await client.stream('/readyz')).ok && (await ownsPort(pid, port)),
      });
    } finally {
      client.close();
    }
    home.development.write(developmentOf(server, readAccess(tokens)));
    const moved = port === USUAL_PORT ? '' : ` (${USUAL_PORT} is taken by another program)`;
    return { pid, facts: { server, serverPort: String(port) }, detail: `${server}${moved}` };
  },
};

/** Our own registry is on loopback, without TLS. Where there is none, no image is ever pulled, so none is looked for. */
function registryEnvironment(registry: string | undefined): Readonly<Record<string, string>> {
  return registry === undefined ? { MOORING_REGISTRY_CHECK: 'false' } : { MOORING_REGISTRY_INSECURE: registry };
}
