import { Client } from '../../pkg/client/index.js';
import { startProgram } from '../node-program.js';
import type { ProcessPart } from '../part.js';
import { untilServing } from '../until-serving.js';

/** The reconcile loops. They count as up when the API server sees a leader of each. */
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
      words: [],
      // The same keys as the server's: what it seals, the loops must open.
      environment: { MOORING_ETCD_ENDPOINTS: facts['etcd']!, MOORING_KEY_FILE: home.path('keys') },
      logFile,
    });
    const client = new Client({ server: facts['server']!, timeoutMs: 2_000 });
    try {
      await untilServing({ pid, clock, logFile, serves: () => everyLoopLed(client) });
    } finally {
      client.close();
    }
    return { pid, facts: {}, detail: '' };
  },
};

interface Health {
  readonly controllers: Readonly<Record<string, { readonly leader: string | boolean | null }>>;
}

async function everyLoopLed(client: Client): Promise<boolean> {
  const answer = await client.request<Health>('GET', '/healthz');
  const loops = answer.ok ? Object.values(answer.value.controllers) : [];
  return loops.length > 0 && loops.every(({ leader }) => Boolean(leader));
}
