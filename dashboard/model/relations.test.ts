import { expect } from 'chai';

import { drawRelations } from './relations.js';
import type { DeploymentView } from './views.js';

const deployment = (name: string, needs: readonly string[] = [], secrets: readonly string[] = []) =>
  [
    name,
    {
      name,
      dependsOn: needs.map(each => ({ name: each, condition: 'healthy' })),
      secrets: secrets.map(path => ({ name: 'X', vault_path: path, anchor: 'external' })),
      status: { phase: 'Running' },
    } as unknown as DeploymentView,
  ] as const;

describe('relations of a deployment', () => {
  const draw = (name: string, ...all: readonly (readonly [string, DeploymentView])[]) => {
    const drawn = drawRelations(name, new Map(all));
    return { ...drawn, arrows: drawn.edges.map(({ from, to, label }) => `${from.label} ${label} ${to.label}`).sort() };
  };

  it('run from what is needed to what needs it, as far as that goes', () => {
    const { nodes, arrows } = draw('web', deployment('db'), deployment('web', ['db'], ['deployments/db']), [
      ...deployment('shop', ['web']),
    ]);
    expect(arrows).to.deep.equal(['db healthy web', 'deployments/db reads web', 'web healthy shop']);
    const x = (label: string) => nodes.find(each => each.label === label)!.x;
    expect(x('db')).to.be.below(x('web'));
    expect(x('web')).to.be.below(x('shop'));
    expect(nodes.find(({ label }) => label === 'web')!.href, 'itself').to.equal(undefined);
    expect(nodes.find(({ label }) => label === 'deployments/db')!.href).to.equal('#/secrets');
  });

  it('name what does not exist, and end where they go in a circle', () => {
    const { nodes, arrows } = draw('a', deployment('a', ['b', 'nobody']), deployment('b', ['a']));
    expect(nodes.find(({ label }) => label === 'nobody')).to.include({ note: 'does not exist', tone: 'bad' });
    expect(arrows).to.deep.equal(['a healthy b', 'b healthy a', 'nobody healthy a']);
  });

  it('lay no box on another, and leave out what there is no end of', () => {
    const many = Array.from({ length: 60 }, (_, at) => deployment(`consumer-${at}`, ['db']));
    const { nodes, more } = draw('db', deployment('db'), ...many);
    expect(nodes).to.have.length(40);
    expect(more).to.equal(21);
    expect(new Set(nodes.map(({ x, y }) => `${x} ${y}`)).size).to.equal(nodes.length);
  });

  it('are of one alone where there are none', () => {
    expect(draw('alone', deployment('alone')))
      .to.include({ more: 0 })
      .and.have.property('nodes')
      .with.length(1);
  });
});
