import { expect } from 'chai';

import { ApiLab } from '../../api/api-lab.testing.js';
import { keys } from '../../crds/keys/index.js';
import { ManualClock } from '../../pkg/clock/manual-clock.testing.js';
import { encode } from '../../pkg/store/index.js';

const BEAT = { labels: {}, capacity: { cpu: 1, memory: 1, disk: 1 }, agentVersion: '0.1.0' };
const machines = [
  { node: `node_${'1'.repeat(26)}`, nodeName: 'machine-1', replica: '11111111-1111-4111-8111-111111111111' },
  { node: `node_${'2'.repeat(26)}`, nodeName: 'machine-2', replica: '22222222-2222-4222-8222-222222222222' },
] as const;

describe('a node whose reports never end', () => {
  const clock = new ManualClock();
  let lab: ApiLab;
  beforeEach(async () => {
    lab = await new ApiLab({ clock }).start();
  });
  afterEach(() => lab.stop());

  /** A node with one replica, and how it reports that this has restarted so often. */
  const enrol = async ({ node, nodeName, replica: uid }: (typeof machines)[number], slot: number) => {
    const { text: token } = await lab.token({ kind: 'node', tenant: lab.a, node, nodeName });
    const placed = { uid, tenant: lab.a, deployment: 'web', deploymentUid: 'dep_1', slot, generation: 1, nodeId: node };
    const key = keys.replica(lab.a, 'web', slot);
    const replica = { ...placed, templateHash: 'a', template: { image: 'web:1' } };
    await lab.store.commit({ guards: [{ key, at: 0 }], puts: [{ key, bytes: encode(replica) }], deletes: [] });
    await lab.cache.barrier();
    const report = (restarts: number) => {
      const at = new Date(clock.now()).toISOString();
      const state = { state: 'running', health: 'none', restarts, at };
      const body = { reports: [{ replica: uid, deployment: 'web', slot, nodeId: node, templateHash: 'a', ...state }] };
      return lab.ask('POST', '/agent/v1/reports', { token, body });
    };
    return { token, report };
  };

  it('writes a bounded number of them, and neither its heartbeats nor other nodes are refused', async () => {
    const [hostile, other] = [await enrol(machines[0], 0), await enrol(machines[1], 1)];
    const before = await lab.store.revision();
    const answers = [];
    for (let restarts = 1; restarts <= 300; restarts++) answers.push(await hostile.report(restarts));
    const refused = answers.filter(({ status }) => status === 429);

    expect(refused.length).to.be.greaterThan(200);
    expect((await lab.store.revision()) - before).to.be.lessThan(100);
    expect(new Set(refused.map(({ body }) => body['code']))).to.deep.equal(new Set(['rate_limited']));
    expect(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).to.equal(true);
    expect((await lab.ask('POST', '/agent/v1/heartbeat', { token: hostile.token, body: BEAT })).status).to.equal(200);
    expect((await other.report(1)).status).to.equal(200);
    await clock.pass(10_000);
    expect((await hostile.report(301)).status, 'later').to.equal(200);
  });
});
