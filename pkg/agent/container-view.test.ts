import { expect } from 'chai';

import { ContainerView } from './container-view.js';
import { type Engine, EngineUnreachableFault, type ContainerStatus } from './engine/index.js';

const container = (replica: string, state: ContainerStatus['state'] = 'running'): ContainerStatus => ({
  id: `c-${replica}`,
  name: replica,
  owner: {
    nodeId: 'node_1',
    tenant: 't1',
    deployment: 'web',
    deploymentUid: 'dep_1',
    replica,
    slot: 0,
    generation: 1,
    templateHash: 'h',
  },
  state,
  health: 'none',
  exitCode: undefined,
});

describe('ContainerView', () => {
  let lists: number;
  let listing: Promise<readonly ContainerStatus[]>;
  let found: ContainerStatus | undefined;
  let view: ContainerView;

  beforeEach(() => {
    lists = 0;
    listing = Promise.resolve([]);
    const engine = {
      list: () => {
        lists++;
        return listing;
      },
      inspect: () => Promise.resolve(found),
    } as unknown as Engine;
    view = new ContainerView(engine, 'node_1');
  });

  it('knows nothing before the first list', async () => {
    expect(view.isListed).to.equal(false);
    listing = Promise.reject(new EngineUnreachableFault('away'));
    await view.relist().catch(() => undefined);
    expect(view.isListed).to.equal(false);

    listing = Promise.resolve([container('a')]);
    await view.relist();
    expect(view.isListed).to.equal(true);
    expect(view.get('a')?.id).to.equal('c-a');
  });

  it('forgets containers that a list no longer shows', async () => {
    view.set('a', container('a'));
    await view.relist();

    expect(view.get('a')).to.equal(undefined);
  });

  it('prefers changes made after a list was requested to that list', async () => {
    view.set('old', container('old'));
    let arrive: (seen: readonly ContainerStatus[]) => void = () => undefined;
    listing = new Promise(resolve => (arrive = resolve));
    const relisting = view.relist();
    view.set('new', container('new'));
    view.set('old', undefined);
    arrive([container('old')]);
    await relisting;

    expect(view.uids).to.deep.equal(['new']);
  });

  it('lists once before it answers for an uncertain replica', async () => {
    listing = Promise.resolve([container('a')]);
    view.markUncertain('a');
    await view.refresh('a');
    await view.refresh('a');

    expect(view.get('a')?.state).to.equal('running');
    expect(lists).to.equal(1);
  });

  it('inspects one container after its event', async () => {
    view.set('a', container('a'));
    found = container('a', 'exited');
    view.markChanged('a');
    await view.refresh('a');

    expect(view.get('a')?.state).to.equal('exited');
    expect(lists).to.equal(0);
  });
});
