import { expect } from 'chai';

import { listDeploymentActions, listNodeActions, listRolloutActions, mayDo, toScaleAction } from './actions.js';
import type { DeploymentView } from './views.js';

const NOW = Date.parse('2026-01-31T12:00:00Z');
const shown = (more: object) =>
  ({ name: 'web', metadata: { revision: '7' }, status: {}, ...more }) as unknown as DeploymentView;
const labels = (more: object) => listRolloutActions(shown(more)).map(({ label }) => label);

describe('what can be done with a deployment', () => {
  it('follows from how it stands', () => {
    expect(labels({})).to.deep.equal([]);
    expect(labels({ status: { rollout: { state: 'progressing' } } })).to.deep.equal(['Pause the rollout']);
    const paused = { rollout: { paused: true }, status: { rollout: { state: 'paused' } } };
    expect(labels(paused)).to.deep.equal(['Resume the rollout']);
    expect(labels({ status: { canary: {} } })).to.deep.equal(['Promote the canary', 'Abort the canary']);
    const deleted = { metadata: { revision: '7', deletedAt: 'x' }, status: { canary: {} } };
    expect([...labels(deleted), ...listDeploymentActions(shown(deleted), NOW)]).to.deep.equal([]);
  });

  it('is asked of what is shown and of nothing later, and what cannot be undone is asked twice', () => {
    const deployment = shown({ status: { canary: {} } });
    const [restart, remove, ...others] = listDeploymentActions(deployment, NOW);
    const changes = [restart!, ...listRolloutActions(deployment), toScaleAction(deployment, 3)];
    expect(changes.map(({ revision }) => revision)).to.deep.equal(changes.map(() => '7'));
    expect(restart!.body).to.deep.equal({ restartedAt: '2026-01-31T12:00:00.000Z' });
    expect(remove!.question).to.include('web');
    expect(others).to.deep.equal([]);
    expect(toScaleAction(shown({}), 3)).to.deep.include({ method: 'PUT', body: { replicas: 3 } });
  });
});

describe('what can be done with a node', () => {
  const node = { id: 'node_a', name: 'a', status: 'ready', controlPlane: false } as const;

  it('is to drain it, or to end that', () => {
    const first = (status: 'ready' | 'draining') => listNodeActions({ ...node, status }, [])[0]!.path;
    expect([first('ready'), first('draining')]).to.deep.equal(['/api/v1/nodes/a/drain', '/api/v1/nodes/a/undrain']);
  });

  it('is to fence it, with what that would move and what is bound to it; not that of the control plane', () => {
    const at = (replica: number, nodeId: string) => ({ replica, nodeId });
    const here = [
      { name: 'web', status: { placements: [at(0, 'node_a'), at(1, 'node_b')] } },
      { name: 'db', nodeId: 'a', status: { placements: [at(0, 'node_a')] } },
    ] as unknown as readonly DeploymentView[];
    const fence = listNodeActions(node, here)[1]!;
    expect(fence.path).to.equal('/api/v1/nodes/a/fence');
    expect(fence.question).to.include('started elsewhere at once: web replica 0.').and.not.include('web replica 1');
    expect(fence.question).to.include('wait for it: db replica 0.');
    expect(listNodeActions(node, [])[1]!.question).to.include('Nothing would be moved');
    expect(listNodeActions({ ...node, controlPlane: true }, here)).to.have.length(1);
  });
});

describe('roles', () => {
  it('include those below them, and administrators of the platform all', () => {
    expect(mayDo({ kind: 'tenant', role: 'viewer' }, 'deployer')).to.equal(false);
    expect(mayDo({ kind: 'tenant', role: 'admin' }, 'deployer')).to.equal(true);
    expect(mayDo({ kind: 'tenant' }, 'viewer')).to.equal(false);
    expect(mayDo({ kind: 'admin' }, 'admin')).to.equal(true);
  });
});
