import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const PATH = '/api/v1/dvm/recommendations';
const ID = `rec_${'1'.repeat(26)}_grow`;
const item = {
  id: ID,
  applicable: true,
  type: 'capacity',
  priority: 'critical',
  volume_id: `vol_${'1'.repeat(26)}`,
  volume_name: 'data',
  parameters: { action: 'resize', target_size_bytes: 15 * 2 ** 30 },
  measurement: { at: '2026-01-01T00:00:00Z', usedBytes: 9 * 2 ** 30 },
  revision: '7',
  message: 'volume data holds 9GiB of 10GiB, 90 %: with 15GiB it would be 9GiB ÷ 15GiB = 60 %',
};

describe('moor recommendations', () => {
  const lab = useCommandLab();
  beforeEach(() => {
    lab.api.replies.set('GET /api/v1/tenants/self', { status: 200, body: { id: 't-1' } });
    lab.api.replies.set(`GET ${PATH}`, { status: 200, body: { items: [item] } });
  });

  it('lists what holds with its arithmetic, and what can be applied', async () => {
    const { code, out } = await lab.moor(['recommendations']);
    expect(code).to.equal(0);
    for (const text of ['critical', 'data', 'resize to 15GiB', 'yes', ID, '= 60 %']) expect(out).to.contain(text);
    lab.api.replies.set(`GET ${PATH}?priority=low&type=capacity`, { status: 200, body: { items: [] } });
    const none = await lab.moor(['recommendations', '--priority', 'low', '--type', 'capacity']);
    expect([none.code, none.err]).to.deep.equal([0, 'no recommendations\n']);
    expect((await lab.moor(['recommendations', '--priority', 'urgent'])).code).to.equal(2);
    expect((await lab.moor(['recommendations', '-o', 'name'])).out).to.equal(`recommendation/${ID}\n`);
  });

  it('applies one as it stands, to the measurement that was read', async () => {
    lab.api.replies.set(`POST ${PATH}/${ID}/apply`, { status: 200, body: { ...item, volume: { name: 'data' } } });
    const { code, out } = await lab.moor(['recommendations', 'apply', ID]);
    expect([code, out]).to.deep.equal([
      0,
      `recommendation/${ID} applied\n  "moor volume describe data" shows how far it is\n`,
    ]);
    const sent = lab.api.got.find(({ method }) => method === 'POST')!;
    expect([sent.body, sent.ifMatch]).to.deep.equal([{ parameters: item.parameters }, '7']);
    await lab.moor(['recommendations', 'apply', ID, '--size', '20Gi']);
    expect(lab.api.got.at(-1)!.body).to.deep.equal({
      parameters: { action: 'resize', target_size_bytes: 20 * 2 ** 30 },
    });
    expect((await lab.moor(['recommendations', 'apply', ID, '--size', '1Gi', '--replicas', '2'])).code).to.equal(2);
    lab.api.replies.set(`POST ${PATH}/${ID}/apply`, replyRefused(409, 'dvm_recommendation_stale_measurement'));
    expect((await lab.moor(['recommendations', 'apply', ID])).err).to.contain('dvm_recommendation_stale_measurement');
  });

  it('shows in a dry run what would change where, and how long it may take', async () => {
    const nodes = [{ nodeId: 'node_1', name: 'machine-1', change: 'its size changes from 10GiB to 15GiB' }];
    const preview = { nodes, seconds: 90, because: 'the last change there was 1GiB in 18 seconds' };
    lab.api.replies.set(`POST ${PATH}/${ID}/apply?dryRun=true`, { status: 200, body: { dryRun: true, preview } });
    const { out } = await lab.moor(['recommendations', 'apply', ID, '--dry-run']);
    expect(out).to.equal(
      `recommendation/${ID} would be applied\n  machine-1: its size changes from 10GiB to 15GiB\n  about 1m30s: the last change there was 1GiB in 18 seconds\n`,
    );
  });

  it('switches auto-apply', async () => {
    lab.api.replies.set(`GET ${PATH}/auto-apply`, { status: 200, body: { growth: false } });
    lab.api.replies.set(`PUT ${PATH}/auto-apply`, { status: 200, body: { growth: true } });
    expect((await lab.moor(['recommendations', 'auto-apply'])).out).to.contain('auto-apply is off');
    expect((await lab.moor(['recommendations', 'auto-apply', 'on'])).out).to.contain('auto-apply is on');
    expect(lab.api.got.at(-1)!.body).to.deep.equal({ growth: true });
  });
});
