import { expect } from 'chai';

import { listDeploymentActions, listNodeActions, mayDo, toScaleAction } from './actions.js';
import type { DeploymentView } from './views.js';

const NOW = Date.parse('2026-01-31T12:00:00Z');
const shown = (more: object) =>
  ({ name: 'web', metadata: { revision: '7' }, status: {}, ...more }) as unknown as DeploymentView;
const labels = (more: object) => listDeploymentActions(shown(more), NOW).map(({ label }) => label);

describe('what can be done with a deployment', () => {
  it('follows from how it stands', () => {
    expect(labels({})).to.deep.equal(['Restart', 'Delete']);
    expect(labels({ status: { rollout: { state: 'progressing' } } })).to.include('Pause the rollout');
    expect(labels({ rollout: { paused: true }, status: { rollout: { state: 'paused' } } })[0]).to.equal(
      'Resume the rollout',
    );
    expect(labels({ status: { canary: {} } }).slice(0, 2)).to.deep.equal(['Promote the canary', 'Abort the canary']);
    expect(labels({ metadata: { revision: '7', deletedAt: 'x' } })).to.deep.equal([]);
  });

  it('is asked of what is shown and of nothing later, and what cannot be undone is asked twice', () => {
    const actions = listDeploymentActions(shown({ status: { canary: {} } }), NOW);
    expect(actions.filter(({ method }) => method !== 'DELETE').every(({ revision }) => revision === '7')).to.equal(
      true,
    );
    expect(actions.find(({ label }) => label === 'Delete')!.question).to.include('web');
    expect(toScaleAction(shown({}), 3)).to.deep.include({ method: 'PUT', body: { replicas: 3 }, revision: '7' });
  });
});

describe('what can be done with a node', () => {
  it('is to drain it, or to end that', () => {
    const first = (status: string) => listNodeActions({ name: 'a', status })[0]!.path;
    expect([first('ready'), first('draining')]).to.deep.equal(['/api/v1/nodes/a/drain', '/api/v1/nodes/a/undrain']);
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
