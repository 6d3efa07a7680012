import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const data = {
  metadata: {
    tenant: 't',
    uid: 'vol_1',
    generation: 1,
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '',
    specHash: '',
  },
  id: 'vol_1',
  name: 'data',
  class: 'ephemeral',
  type: 'volume',
  sizeBytes: 2 ** 30,
  accessMode: 'ReadWriteOnce',
  phase: 'Degraded',
  reason: 'volume_node_silent',
  message: 'its bytes are on machine-1, which is not heard: check the machine and its agent',
  primaryNode: 'node_1',
  primaryNodeName: 'machine-1',
  epoch: null,
  wantedReplicas: 0,
  replicas: [],
  divergent: [],
  driver: 'directory',
  limits: 'The size is measured and not enforced.',
  usedBytes: 2 ** 20,
  capacityBytes: 2 ** 30,
  measuredAt: '2026-01-01T00:00:00Z',
  since: '2026-01-01T00:00:00Z',
  consumers: [
    { deployment: 'db', readOnly: false },
    { deployment: 'report', readOnly: true },
  ],
};
const PATH = '/api/v1/dvm/volumes';

describe('moor volumes', () => {
  const lab = useCommandLab();

  it('create sends what was asked for, and says what the server chose', async () => {
    const alterations = [
      { field: 'primaryNode', from: 'machine-1', to: 'node_1', why: 'the id of the node of that name' },
    ];
    lab.api.replies.set(`POST ${PATH}`, { status: 201, body: { ...data, alterations, warnings: [] } });
    const words = ['volume', 'create', 'data', '--size', '1Gi', '--node', 'machine-1', '--country', 'DE'];
    const { code, out } = await lab.moor(words);
    expect(code).to.equal(0);
    expect(out).to.contain('volume/data created as vol_1\n').and.to.contain('primaryNode');
    expect(lab.api.got[0]!.body).to.deep.equal({
      name: 'data',
      class: 'ephemeral',
      sizeBytes: 2 ** 30,
      primaryNode: 'machine-1',
      residency: { country: 'DE' },
    });
    expect((await lab.moor(['volumes', 'create', 'x', '--size', 'much'])).code).to.equal(2);
    lab.api.replies.set(`POST ${PATH}`, replyRefused(501, 'feature_not_available'));
    const refused = await lab.moor(['volumes', 'create', 'x', '--size', '1Gi', '--class', 'replicated']);
    expect(refused.code).to.not.equal(0);
    expect(refused.err).to.contain('feature_not_available');
  });

  it('list shows phase, size, node and who mounts each', async () => {
    lab.api.replies.set(`GET ${PATH}`, { status: 200, body: { items: [data] } });
    for (const words of [['volumes'], ['volumes', 'list'], ['get', 'volumes'], ['get', 'vol']]) {
      const { out } = await lab.moor(words);
      for (const text of ['data', 'Degraded', '1Gi', 'machine-1', 'db, report', 'is not heard'])
        expect(out).to.contain(text);
    }
  });

  it('describe says where the bytes are and what keeps them', async () => {
    lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body: data });
    lab.api.replies.set('GET /api/v1/events', { status: 200, body: { items: [] } });
    for (const words of [
      ['describe', 'volume', 'data'],
      ['volume', 'describe', 'data'],
    ]) {
      const { out } = await lab.moor(words);
      for (const text of [
        'vol_1',
        'machine-1 (node_1)',
        '1MiB of 1GiB',
        'directory',
        'not enforced',
        'db (writes), report (reads)',
      ]) {
        expect(out, words.join(' ')).to.contain(text);
      }
    }
  });

  it('describe shows how far each copy is', async () => {
    const copies = [
      { nodeId: 'node_2', nodeName: 'machine-2', state: 'synced', syncedAt: '2026-01-01T00:00:00Z', lagBytes: 2 ** 20 },
      { nodeId: 'node_3', nodeName: null, state: 'syncing', sentBytes: 1, totalBytes: 3, message: 'no route to it' },
    ];
    const body = { ...data, class: 'replicated', wantedReplicas: 2, epoch: 1, replicas: copies };
    lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body });
    lab.api.replies.set('GET /api/v1/events', { status: 200, body: { items: [] } });
    const { out } = await lab.moor(['volume', 'describe', 'data']);
    expect(out)
      .to.match(/machine-2 +synced .*ago +1MiB/)
      .and.match(/node_3 +syncing +- +- +33% +no route to it/);
  });

  it('replicas are added and removed on a node', async () => {
    const path = '/api/v1/tenants/self/volumes/data/replicas';
    lab.api.replies.set(`POST ${path}`, { status: 200, body: { ...data, wantedReplicas: 2 } });
    const added = await lab.moor(['volume', 'replicas', 'add', 'data', 'machine-2']);
    expect(added.out).to.equal('volume/data is copied to machine-2: 2 copies wanted\n');
    expect(lab.api.got.at(-1)!.body).to.deep.equal({ node_id: 'machine-2' });
    lab.api.replies.set(`DELETE ${path}/machine-2`, { status: 200, body: { ...data, wantedReplicas: 1 } });
    const removed = await lab.moor(['volumes', 'replicas', 'remove', 'data', 'machine-2']);
    expect(removed.out).to.equal('volume/data loses its copy on machine-2: 1 copy wanted\n');
    expect(lab.api.got.at(-1)!.path).to.equal(`${path}/machine-2`);
    lab.api.replies.set(`DELETE ${path}/machine-2?force=true`, { status: 200, body: { ...data, wantedReplicas: 0 } });
    const forced = await lab.moor(['volumes', 'replicas', 'remove', 'data', 'machine-2', '--force']);
    expect(forced.out).to.equal('volume/data loses its copy on machine-2: 0 copies wanted\n');
    lab.api.replies.set(`POST ${path}`, replyRefused(422, 'volume_replica_node_conflict'));
    expect((await lab.moor(['volume', 'replicas', 'add', 'data', 'x'])).err).to.contain('volume_replica_node_conflict');
  });

  it('grow prints the old size and the new one, and waits with what happens', async () => {
    const ready = { ...data, phase: 'Ready', message: 'it is on machine-1' };
    const asked = { ...ready, sizeBytes: 2 ** 31, metadata: { ...data.metadata, generation: 2 } };
    const message = 'its size is to change from 1GiB to 2GiB on machine-1';
    lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body: ready });
    lab.api.replies.set(`PATCH ${PATH}/data`, { status: 200, body: { ...asked, alterations: [], warnings: [] } });
    const line = (object: object) => ({ type: 'modified', cursor: '1', object });
    lab.api.replies.set(`GET ${PATH}?watch=true`, {
      lines: [
        line(ready),
        line(asked),
        line({ ...asked, phase: 'Resizing', message }),
        line({ ...asked, capacityBytes: 2 ** 31, targetBytes: 2 ** 31 }),
      ],
    });
    const { code, out, err } = await lab.moor(['volume', 'grow', 'data', '--size', '2Gi']);
    expect([code, err]).to.deep.equal([0, `  ${message}\n`]);
    expect(out).to.equal('volume/data resizing: 1GiB → 2GiB\nvolume/data resized: it has 2GiB now\n');
    expect(lab.api.got.find(({ method }) => method === 'PATCH')!.body).to.deep.equal({ sizeBytes: 2 ** 31 });
    expect((await lab.moor(['volume', 'grow', 'data', '--size', 'big'])).code).to.equal(2);
    lab.api.replies.set(`PATCH ${PATH}/data`, replyRefused(409, 'volume_size_unavailable'));
    expect((await lab.moor(['volume', 'grow', 'data', '--size', '2Gi'])).err).to.contain('volume_size_unavailable');
  });

  it('grow ends with the words of the node that refuses, and makes nothing smaller unless told to', async () => {
    const ready = { ...data, phase: 'Ready', reason: 'volume_ready', capacityBytes: 2 ** 30, targetBytes: 2 ** 30 };
    const refused = { ...ready, reason: 'volume_refused', targetBytes: 2 ** 32, message: 'an earlier refusal' };
    const asked = (sizeBytes: number) => ({ ...refused, sizeBytes, metadata: { ...data.metadata, generation: 2 } });
    const line = (object: object) => ({ type: 'modified', cursor: '1', object });
    const answer = (sizeBytes: number, ...lines: readonly object[]) => {
      lab.api.replies.set(`PATCH ${PATH}/data`, { status: 200, body: asked(sizeBytes) });
      lab.api.replies.set(`GET ${PATH}?watch=true`, { lines: lines.map(line) });
    };
    lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body: ready });
    const message = 'its size is to change from 1GiB to 2GiB, and machine-1 cannot do it yet: no space is left';
    answer(2 ** 31, asked(2 ** 31), { ...asked(2 ** 31), targetBytes: 2 ** 31, message });
    const large = await lab.moor(['volume', 'grow', 'data', '--size', '2Gi']);
    expect([large.code, large.err]).to.deep.equal([1, `volume/data keeps its size for now: ${message}\n`]);

    const small = await lab.moor(['volume', 'grow', 'data', '--size', '512Mi']);
    expect([small.code, small.err]).to.satisfy(
      ([code, err]: [number, string]) => code === 2 && err.includes('--shrink'),
    );
    expect(lab.api.got.filter(({ method }) => method === 'PATCH')).to.have.length(1);
    const done = { ...asked(2 ** 29), reason: 'volume_ready', capacityBytes: 2 ** 29, targetBytes: 2 ** 29 };
    answer(2 ** 29, asked(2 ** 29), { ...done, capacityBytes: 2 ** 30, targetBytes: 2 ** 30 }, done);
    const shrunk = await lab.moor(['volume', 'grow', 'data', '--size', '512Mi', '--shrink']);
    expect([shrunk.code, shrunk.out]).to.deep.equal([
      0,
      'volume/data resizing: 1GiB → 512MiB\nvolume/data resized: it has 512MiB now\n',
    ]);
  });

  it('delete is refused while something mounts it', async () => {
    lab.api.replies.set(`DELETE ${PATH}/data`, { status: 200, body: { ...data, phase: 'Deleting' } });
    expect((await lab.moor(['volumes', 'delete', 'data'])).out).to.equal('volume/data deleting\n');
    lab.api.replies.set(`DELETE ${PATH}/data`, replyRefused(409, 'volume_in_use'));
    expect((await lab.moor(['volume', 'delete', 'data'])).err).to.contain('volume_in_use');
  });
});
