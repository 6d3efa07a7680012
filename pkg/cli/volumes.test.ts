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
  message: 'its bytes are on machine-1, which sends no heartbeats: check the machine and its agent',
  primaryNode: 'node_1',
  primaryNodeName: 'machine-1',
  epoch: null,
  wantedReplicas: 0,
  replicas: [],
  divergent: [],
  move: null,
  lastMove: null,
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
    lab.api.replies.set(`POST ${PATH}`, replyRefused(422, 'node_candidates_unresolvable'));
    const refused = await lab.moor(['volumes', 'create', 'x', '--size', '1Gi', '--class', 'replicated']);
    expect(refused.code).to.not.equal(0);
    expect(refused.err).to.contain('node_candidates_unresolvable');
  });

  it('list shows phase, size, node and who mounts each', async () => {
    lab.api.replies.set(`GET ${PATH}`, { status: 200, body: { items: [data] } });
    for (const words of [['volumes'], ['volumes', 'list'], ['get', 'volumes'], ['get', 'vol']]) {
      const { out } = await lab.moor(words);
      for (const text of ['data', 'Degraded', '1Gi', 'machine-1', 'db, report', 'sends no heartbeats'])
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

  for (const [failover, line] of [
    [{ mode: 'automatic', writesStopAfterSeconds: 60 }, 'automatic: 60 s after the last heartbeat of machine-1'],
    [{ mode: 'manual', because: 'agent_stopping' }, 'manual ("moor nodes fence machine-1")'],
    [{ mode: 'none', because: 'no_copy' }, 'none: no copy is complete'],
  ] as const) {
    it(`describe says that the failover of a volume is ${failover.mode}`, async () => {
      lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body: { ...data, failover } });
      lab.api.replies.set('GET /api/v1/events', { status: 200, body: { items: [] } });
      const { out } = await lab.moor(['describe', 'volume', 'data']);
      expect(out)
        .to.match(/^Failover:? +/m)
        .and.to.contain(line);
    });
  }

  it('describe shows how far each copy is', async () => {
    const copies = [
      {
        nodeId: 'node_2',
        nodeName: 'machine-2',
        state: 'synced',
        syncedAt: '2026-01-01T00:00:00Z',
        lagBytes: 2 ** 20,
        lagSeconds: 90,
      },
      { nodeId: 'node_3', nodeName: null, state: 'syncing', sentBytes: 1, totalBytes: 3, message: 'no route to it' },
    ];
    const body = { ...data, class: 'replicated', wantedReplicas: 2, epoch: 1, replicas: copies };
    lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body });
    lab.api.replies.set('GET /api/v1/events', { status: 200, body: { items: [] } });
    const { out } = await lab.moor(['volume', 'describe', 'data']);
    expect(out)
      .to.match(/machine-2 +synced .*ago +1MiB, 1m30s/)
      .and.match(/node_3 +syncing +- +- +33% +no route to it/);
  });

  it('divergent lists what was set aside, and removes it by its name', async () => {
    const one = { nodeId: 'node_2', nodeName: 'machine-2', name: 'divergent-1', epoch: 1, at: '2026-01-01T00:00:00Z' };
    const body = { ...data, divergent: [one, { ...one, nodeName: null, name: 'divergent-3', isDiscarded: true }] };
    lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body });
    lab.api.replies.set('GET /api/v1/events', { status: 200, body: { items: [] } });
    const { out } = await lab.moor(['volume', 'divergent', 'list', 'data']);
    expect(out)
      .to.match(/machine-2 +divergent-1 +1 .*kept/)
      .and.match(/node_2 +divergent-3 .*is being removed/);
    expect((await lab.moor(['volume', 'describe', 'data'])).out).to.contain('divergent-1 on machine-2 (2026');
    lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body: data });
    expect((await lab.moor(['volume', 'divergent', 'list', 'data'])).err).to.contain('nothing of volume/data');
    const path = '/api/v1/tenants/self/volumes/data/divergent/machine-2/divergent-1';
    lab.api.replies.set(`DELETE ${path}`, { status: 200, body });
    const removed = await lab.moor(['volume', 'divergent', 'delete', 'data', 'machine-2', 'divergent-1']);
    expect(removed.out).to.equal('volume/data: divergent-1 on machine-2 is being removed\n');
    lab.api.replies.set(`DELETE ${path}`, replyRefused(404, 'resource_not_found'));
    const refused = await lab.moor(['volume', 'divergent', 'delete', 'data', 'machine-2', 'divergent-1']);
    expect(refused.err).to.contain('resource_not_found');
  });

  it('replicas add waits until the copy is complete, and draws how far it is', async () => {
    lab.api.replies.set('POST /api/v1/tenants/self/volumes/data/replicas', { status: 200, body: data });
    const copy = (change: object) => ({ nodeId: 'node_2', nodeName: 'machine-2', state: 'syncing', ...change });
    const views = [
      [],
      [copy({ sentBytes: 1, totalBytes: 4 })],
      [copy({ message: 'no route' })],
      [copy({ state: 'synced' })],
    ];
    const lines = views.map(replicas => ({ type: 'modified', cursor: '1', object: { ...data, replicas } }));
    lab.api.replies.set(`GET ${PATH}?watch=true`, { lines });
    const words = ['volume', 'replicas', 'add', 'data', 'machine-2', '--wait'];
    const plain = await lab.moor(words);
    expect(plain.out).to.contain('volume/data synced: the copy on machine-2 is complete\n');
    const bar = `[${'█'.repeat(6)}${'░'.repeat(18)}] 25%`;
    expect(plain.err).to.equal(`  waits for its node\n  syncing ${bar}\n  syncing no route\n`);
    const drawn: (readonly string[])[] = [];
    const { err, code } = await lab.moor(words, { live: { draw: shown => void drawn.push(shown) } });
    expect([code, err]).to.deep.equal([0, '']);
    expect(drawn).to.deep.equal([['  waits for its node'], [`  syncing ${bar}`], ['  syncing no route'], []]);
    lab.api.replies.set(`GET ${PATH}?watch=true`, { lines: [{ type: 'deleted', cursor: '1', object: data }] });
    expect((await lab.moor(words)).code).to.equal(1);
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

  it('move prints each phase as it passes, and for how long nothing could use it', async () => {
    const path = '/api/v1/tenants/self/volumes/data/move';
    const asked = { ...data, class: 'replicated', phase: 'Ready', metadata: { ...data.metadata, generation: 2 } };
    const line = (object: object) => ({ type: 'modified', cursor: '1', object });
    const under = (phase: string, message: string) =>
      line({ ...asked, move: { phase, message, to: 'node_2', toName: 'machine-2', generation: 2, since: '' } });
    const ended = (change: object) =>
      line({ ...asked, lastMove: { from: 'node_1', to: 'node_2', generation: 2, at: '', ...change } });
    lab.api.replies.set(`POST ${path}`, { status: 200, body: { ...asked, alterations: [], warnings: [] } });
    const steps = [under('Copying', 'a copy is made on machine-2'), under('Stopping', 'what mounts it is stopped')];
    const words = ['volume', 'move', 'data', '--to', 'machine-2'];
    lab.api.replies.set(`GET ${PATH}?watch=true`, {
      lines: [line(data), ...steps, steps[1]!, ended({ message: 'it is on machine-2', downtimeSeconds: 4 })],
    });
    const { code, out, err } = await lab.moor(words);
    expect(code).to.equal(0);
    expect(err).to.equal('  Copying: a copy is made on machine-2\n  Stopping: what mounts it is stopped\n');
    expect(out).to.equal(
      'volume/data moves to machine-2\nvolume/data moved: it is on machine-2; nothing could use it for 4 s\n',
    );
    expect(lab.api.got[0]!.body).to.deep.equal({ node: 'machine-2' });

    lab.api.replies.set(`GET ${PATH}?watch=true`, {
      lines: [steps[1]!, ended({ isAborted: true, message: 'machine-2 is lost', downtimeSeconds: 9 })],
    });
    const aborted = await lab.moor(words);
    expect([aborted.code, aborted.err]).to.satisfy(
      ([exit, told]: [number, string]) => exit === 1 && told.includes('was not moved: machine-2 is lost; nothing'),
    );
    expect((await lab.moor([...words, '--no-wait'])).out).to.equal('volume/data moves to machine-2\n');
    lab.api.replies.set(`DELETE ${path}`, { status: 200, body: asked });
    expect((await lab.moor(['volume', 'move', 'data', '--cancel'])).out).to.equal('volume/data stays where it is\n');
    expect((await lab.moor(['volume', 'move', 'data'])).code).to.equal(2);
    lab.api.replies.set(`POST ${path}`, replyRefused(409, 'volume_move_under_way'));
    expect((await lab.moor(words)).err).to.contain('volume_move_under_way');
  });

  it('describe shows how far a move is, what it waits for, and how the last one ended', async () => {
    lab.api.replies.set('GET /api/v1/events', { status: 200, body: { items: [] } });
    const show = async (change: object) => {
      lab.api.replies.set(`GET ${PATH}/data`, { status: 200, body: { ...data, ...change } });
      return (await lab.moor(['volume', 'describe', 'data'])).out;
    };
    const move = { phase: 'Syncing', message: 'the last changes are sent', to: 'node_2', toName: 'm2', since: '' };
    expect(await show({ move })).to.match(/Move: +Syncing, to m2: the last changes are sent/);
    expect(await show({ move: { phase: 'Blocked', message: 'no copy' } })).to.match(/Move: +Blocked: no copy/);
    const lastMove = { from: 'a', to: 'b', message: 'it is on b', downtimeSeconds: 3, at: '2026-01-01T00:00:00Z' };
    expect(await show({ lastMove })).to.match(/Move: +ended 2026.*: it is on b; nothing could use it for 3 s/);
  });

  it('delete is refused while something mounts it', async () => {
    lab.api.replies.set(`DELETE ${PATH}/data`, { status: 200, body: { ...data, phase: 'Deleting' } });
    expect((await lab.moor(['volumes', 'delete', 'data'])).out).to.equal('volume/data deleting\n');
    lab.api.replies.set(`DELETE ${PATH}/data`, replyRefused(409, 'volume_in_use'));
    expect((await lab.moor(['volume', 'delete', 'data'])).err).to.contain('volume_in_use');
  });
});
