import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { expect } from 'chai';

import type { Replica } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import { replica } from '../link/dispatcher-lab.testing.js';
import { type AgentLink, type AssignmentLine, LinkUnreachableFault } from '../link/index.js';
import { seededRandom, untilAborted } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { silentLogger } from '../log/index.js';
import { Agent } from './agent.js';
import { createMemoryDisk } from './disk.js';
import { SimulatedEngine } from './engine/index.js';

const REPLICAS = 200;
/** What is under way, and the last of what was sent and received. */
const KEPT_MAX = 10;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('an agent whose replicas come and go', () => {
  it('keeps neither assignments nor reports of those that are gone', async () => {
    const clock = new ManualClock();
    const assigned: WeakRef<Replica>[] = [];
    const reported: WeakRef<Report>[] = [];
    let send: (line: AssignmentLine) => void = () => undefined;
    const node = { id: 'node_1', name: 'n1', tenant: replica().tenant };
    const store = { revision: 1, restoreEpoch: 0, proof: '' };
    const link = {
      present: () => undefined,
      enrol: async () => ({ node, token: 't', expiresAt: new Date(clock.now() + 86_400_000).toISOString() }),
      heartbeat: async () => ({ failedAfterMs: 30_000, store }),
      report: async ({ reports }: { readonly reports: readonly Report[] }) => {
        for (const each of reports) reported.push(new WeakRef(each));
        if (reported.length % 7 === 0) throw new LinkUnreachableFault('the connection broke');
      },
      assignments: (onLine: typeof send, signal: AbortSignal) => {
        send = onLine;
        onLine({ type: 'snapshot', replicas: [], pullTickets: {}, store, networks: [], volumes: [] });
        return untilAborted(signal);
      },
      findGoneNodes: async () => [],
    } as unknown as AgentLink;
    const engine = new SimulatedEngine({ clock, random: seededRandom(1) });
    const env = { clock, random: seededRandom(2), engine, link, disk: createMemoryDisk(), log: silentLogger };
    const end = new AbortController();
    const running = new Agent(env, { name: 'n1', version: 'test', joinToken: 'join' }).run(end.signal);
    await clock.pass(1_000);

    const assign = (change: Partial<Replica>) => {
      const one = replica(change);
      assigned.push(new WeakRef(one));
      send({ type: 'set', replica: one });
    };
    for (let turn = 0; turn < REPLICAS; turn++) {
      const name = { uid: `rep_${turn}`, deploymentUid: `dep_${turn}`, deployment: `web-${turn}` };
      assign(name);
      await clock.pass(300);
      if (turn % 3 === 0) engine.crash(engine.containers[0]!.id, 1);
      assign({ ...name, retiringSince: '2030-01-01T00:00:00.000Z' });
      await clock.pass(1_500);
      send({ type: 'drop', uid: name.uid });
      await clock.pass(200);
    }
    await clock.pass(60_000);
    collectGarbage();
    const countKept = (refs: readonly WeakRef<object>[]) => refs.filter(ref => ref.deref() !== undefined).length;

    expect([engine.containers.length, assigned.length]).to.deep.equal([0, 2 * REPLICAS]);
    expect(reported.length).to.be.greaterThan(REPLICAS);
    expect(countKept(assigned), 'assignments that are kept').to.be.at.most(KEPT_MAX);
    expect(countKept(reported), 'reports that are kept').to.be.at.most(KEPT_MAX);
    end.abort();
    await clock.pass(10_000);
    await running;
  });
});
