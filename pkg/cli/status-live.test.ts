import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';

describe('moor status on a terminal', () => {
  const lab = useCommandLab();
  const view = (phase: string, ready: number) => ({
    name: 'web',
    image: 'example.test/web:1',
    replicas: 1,
    metadata: { uid: 'dep_web', generation: 1, revision: '5', createdAt: '2026-01-01T00:00:00Z' },
    status: {
      uid: 'dep_web',
      phase,
      message: '',
      replicas: 1,
      readyReplicas: ready,
      updatedReplicas: 1,
      observedGeneration: 1,
      placements: [
        {
          replica: 0,
          nodeId: 'node_1',
          state: 'running',
          health: ready ? 'healthy' : 'starting',
          restarts: 0,
          containerId: 'c',
        },
      ],
      conditions: [],
    },
  });
  const event = { type: 'deployment.placed', lastSeenAt: '2026-01-01T00:00:01Z', message: 'on \u001b[2Jattic' };

  beforeEach(() => {
    const { api } = lab;
    api.replies.set('GET /api/v1/deployments/web', { status: 200, body: view('Progressing', 0) });
    api.replies.set('GET /api/v1/nodes', {
      status: 200,
      body: { items: [{ id: 'node_1', name: 'attic' }], revision: '1' },
    });
    api.replies.set('GET /api/v1/events?subject=web&watch=true', {
      lines: [{ type: 'added', cursor: '1', object: event }],
    });
    api.replies.set('GET /api/v1/deployments?watch=true', {
      lines: [
        { type: 'added', cursor: '1', object: view('Progressing', 0) },
        { type: 'modified', cursor: '2', object: view('Running', 1) },
      ],
    });
  });

  it('draws steps, replicas and the last event in one place, and ends when it is ready', async () => {
    const drawn: (readonly string[])[] = [];
    const { code, out } = await lab.moor(['status', 'web', '--until-ready'], {
      live: { draw: lines => void drawn.push(lines) },
    });
    const [first, last] = [drawn[0]!.join('\n'), drawn.at(-1)!.join('\n')];
    expect(first)
      .to.match(/^web {2}Progressing {2}0\/1 ready/)
      .and.to.contain('replica 0  attic  running  starting');
    expect(first).to.contain('Steps:').and.to.contain('admitted');
    expect(last).to.match(/^web {2}Running {2}1\/1 ready/);
    expect([code, out]).to.deep.equal([0, '']);
  });

  it('shows how much of an image has arrived: with a bar on a terminal, and in a pipe', async () => {
    const begun = view('Progressing', 0);
    const [placement] = begun.status.placements;
    const pull = { receivedBytes: 30 * 2 ** 20, totalBytes: 120 * 2 ** 20 };
    const placements = [{ ...placement, state: 'pulling', health: 'none', containerId: null, pull }];
    const pulling = { ...begun, status: { ...begun.status, placements } };
    lab.api.replies.set('GET /api/v1/deployments?watch=true', {
      lines: [
        { type: 'added', cursor: '1', object: pulling },
        { type: 'modified', cursor: '2', object: view('Running', 1) },
      ],
    });
    const drawn: (readonly string[])[] = [];
    await lab.moor(['status', 'web', '--until-ready'], { live: { draw: lines => void drawn.push(lines) } });
    expect(drawn[0]!.join('\n')).to.match(/replica 0 .*pulling .*\[█+░+\] 25% 30MiB of 120MiB/);
    expect(drawn[0]!.join('\n')).to.match(/created +waiting .*replica 0 is pulling: 30MiB of 120MiB \(25 %\)/);
    expect(drawn.at(-1)!.join('\n')).not.to.contain('MiB of');
    const { out } = await lab.moor(['status', 'web', '--until-ready']);
    expect(out).to.match(/0:pulling\/none 30MiB of 120MiB \(25 %\)/);
  });

  it('draws nothing that a tenant wrote to control the terminal', async () => {
    const drawn: (readonly string[])[] = [];
    const stop = new AbortController();
    const live = {
      draw: (lines: readonly string[]) => {
        drawn.push(lines);
        if (lines.some(line => line.startsWith('Last event'))) stop.abort();
      },
    };
    const { code } = await lab.moor(['status', 'web', '--watch'], { live, interrupted: stop.signal });
    expect(code).to.equal(130);
    const text = drawn.flat().join('\n');
    expect(text).to.contain('Last event: deployment.placed');
    expect(text).not.to.contain('\u001b');
  });

  it('prints plain lines in a pipe', async () => {
    const { code, out } = await lab.moor(['status', 'web', '--until-ready']);
    expect(out).to.match(/Progressing {2}0\/1 ready.*\n.*Running {2}1\/1 ready/);
    expect(code).to.equal(0);
  });
});
