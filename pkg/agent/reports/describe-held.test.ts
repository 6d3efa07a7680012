import { expect } from 'chai';

import { SET_BACK_MAX } from '../../../crds/node/index.js';
import { replica } from '../../link/dispatcher-lab.testing.js';
import { describeHeld, type HeldParts } from './describe-held.js';
import type { ContainerStatus } from '../engine/index.js';

const volumes = { removed: [], demoted: [], discarded: [], newer: [], unknown: [] };

describe('what an agent that holds tells', () => {
  const container = (name: string, owner: Partial<ContainerStatus['owner']> = {}): ContainerStatus => ({
    id: name,
    name,
    owner: {
      nodeId: 'node_1',
      tenant: 't',
      deployment: name,
      deploymentUid: name,
      replica: name,
      slot: 0,
      generation: 1,
      templateHash: '',
      ...owner,
    },
    state: 'running',
    health: 'none',
    exitCode: undefined,
  });
  const describe_ = (
    containers: readonly ContainerStatus[],
    parts: Partial<HeldParts> = {},
    replicas: object[] = [],
  ) => {
    const settled: { digest: string; isHarmless: boolean }[] = [];
    const told = describeHeld({
      gate: {
        ignored: { type: 'snapshot', replicas } as never,
        seen: undefined,
        settle: (_, changes) => settled.push(changes) === 0,
      },
      view: { containers, isListed: true },
      assignments: { wanted: () => 'run' },
      volumes: { compare: async () => volumes },
      findLeftovers: async () => [],
      ...parts,
    });
    return told.then(({ setBack }) => ({ setBack, settled }));
  };

  it('is nothing before it has seen its containers', async () => {
    const { setBack, settled } = await describe_([container('web')], { view: { containers: [], isListed: false } });
    expect([setBack, settled]).to.deep.equal([undefined, []]);
  });

  it('has what was left of nodes that are no more', async () => {
    const { setBack, settled } = await describe_([], { findLeftovers: async () => [container('former')] });
    expect([setBack?.containers, settled[0]?.isHarmless]).to.deep.equal([['former/0'], false]);
  });

  it('is harmless where volumes stay and only secrets are newer', async () => {
    const known = container('web', { secretVersions: { 'deployments/db': 2 } });
    const compare = async () => ({ ...volumes, newer: ['vol_1'], unknown: ['vol_2'] });
    const { setBack, settled } = await describe_([known], { volumes: { compare } }, [replica({ uid: 'web' })]);
    expect([setBack?.secrets, settled[0]?.isHarmless]).to.deep.equal([['deployments/db@2'], true]);
  });

  for (const kind of ['removed', 'demoted', 'discarded'] as const) {
    it(`is not harmless where bytes of a volume are ${kind}`, async () => {
      const { settled } = await describe_([], {
        volumes: { compare: async () => ({ ...volumes, [kind]: ['vol_1'] }) },
      });
      expect(settled[0]?.isHarmless).to.equal(false);
    });
  }

  it('has the latest version of each credential that the store has not written down for the same container', async () => {
    const versions = (version: number) => ({ secretVersions: { 'deployments/db': version } });
    const resolved = { versions: { 'deployments/db': 3 }, at: '' };
    const { setBack } = await describe_(
      [container('a', versions(2)), container('b', versions(1)), container('c', versions(3))],
      {},
      [replica({ uid: 'c', resolved })],
    );
    expect(setBack?.secrets).to.deep.equal(['deployments/db@2']);
  });

  it('says how many it leaves out, and its digest covers them', async () => {
    const all = Array.from({ length: SET_BACK_MAX + 2 }, (_, at) => container(`web-${1000 + at}`));
    const [told, other] = [await describe_(all), await describe_([...all.slice(0, -1), container('web-9')])];
    expect(told.setBack).to.include({ more: 2 });
    expect(told.setBack?.containers).to.deep.equal(other.setBack?.containers).and.to.have.length(SET_BACK_MAX);
    expect(told.setBack?.digest).not.to.equal(other.setBack?.digest);
  });
});
