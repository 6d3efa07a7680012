import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const backend = {
  metadata: {
    tenant: 't',
    uid: 'net_1',
    generation: 1,
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '',
    specHash: '',
  },
  name: 'backend',
  driver: 'bridge',
  labels: { team: 'shop' },
  internal: true,
  nodeId: 'node_1',
  status: {
    uid: 'net_1',
    state: 'failed',
    reason: 'network_refused',
    message: 'no address pool is left',
    node: 'machine-1',
    since: '2026-01-01T00:00:00Z',
  },
};

describe('moor networks', () => {
  const lab = useCommandLab();

  it('create sends what was asked for, and says what the server chose', async () => {
    const alterations = [{ field: 'nodeId', from: null, to: 'node_1', why: 'the only node' }];
    lab.api.replies.set('POST /api/v1/networks', { status: 201, body: { ...backend, alterations } });
    const words = [
      'networks',
      'create',
      'backend',
      '--node',
      'machine-1',
      '--internal',
      '--label',
      'team=shop',
      'a=b=c',
    ];
    const { code, out } = await lab.moor(words);
    expect(code).to.equal(0);
    expect(out).to.equal('network/backend created\n  altered  nodeId set to "node_1": the only node\n');
    expect(lab.api.got[0]!.body).to.deep.equal({
      name: 'backend',
      nodeId: 'machine-1',
      internal: true,
      labels: { team: 'shop', a: 'b=c' },
    });
    expect((await lab.moor(['networks', 'create', 'x', '--label', 'none'])).code).to.equal(2);
    lab.api.replies.set('POST /api/v1/networks', replyRefused(422, 'network_node_required'));
    const refused = await lab.moor(['networks', 'create', 'backend']);
    expect(refused.code).to.not.equal(0);
    expect(refused.err).to.contain('network_node_required');
  });

  it('are listed with their node, and with the words of an engine that refuses them', async () => {
    lab.api.replies.set('GET /api/v1/networks', { status: 200, body: { items: [backend] } });
    const { out } = await lab.moor(['get', 'networks']);
    expect(out).to.match(
      /^NAME +STATE +NODE +INTERNAL +AGE +MESSAGE\nbackend +failed +machine-1 +yes .* no address pool/,
    );
    expect((await lab.moor(['networks', 'list'])).out).to.contain('backend');
  });

  it('are described with their events', async () => {
    lab.api.replies.set('GET /api/v1/networks/backend', { status: 200, body: backend });
    lab.api.replies.set('GET /api/v1/events', { status: 200, body: { items: [] } });
    const { code, out } = await lab.moor(['describe', 'network', 'backend']);
    expect(code).to.equal(0);
    for (const text of ['no address pool is left', 'machine-1 (node_1)', 'team=shop', 'it has no way out']) {
      expect(out).to.contain(text);
    }
  });

  it('are deleted, unless the server refuses', async () => {
    lab.api.replies.set('DELETE /api/v1/networks/backend', { status: 200, body: backend });
    for (const words of [
      ['networks', 'delete', 'backend'],
      ['delete', 'network', 'backend'],
    ]) {
      expect(await lab.moor(words)).to.deep.include({ code: 0, out: 'network/backend deleted\n' });
    }
    lab.api.replies.set('DELETE /api/v1/networks/backend', replyRefused(409, 'network_in_use'));
    expect((await lab.moor(['networks', 'delete', 'backend'])).err).to.contain('network_in_use');
  });
});
