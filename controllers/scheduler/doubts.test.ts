import { expect } from 'chai';

import type { Fleets } from '../../pkg/fleet/index.js';
import type { Candidate } from '../../pkg/placement/index.js';
import type { SeenReplica } from '../reading/index.js';
import type { Assignment } from './changes.js';
import { Doubts } from './doubts.js';

const seen = (uid: string, revision = 1) => ({ replica: { uid }, revision }) as SeenReplica;
const assigned = (uid: string): Assignment => ({ seen: seen(uid), node: { id: 'node_1' } as Candidate });
const uids = (replicas: readonly SeenReplica[]) => replicas.map(({ replica }) => replica.uid);

describe('placements in doubt', () => {
  let counted: string[];
  let doubts: Doubts;
  beforeEach(() => {
    counted = [];
    const assume: Fleets['assume'] = placed => {
      counted.push(...placed.map(({ uid }) => uid));
      return () => {
        counted = counted.filter(uid => !placed.some(each => each.uid === uid));
      };
    };
    doubts = new Doubts({ assume } as Fleets);
    doubts.keep('t/web', [assigned('b'), assigned('c')], 0);
  });

  it('count until their deployment is looked at again', () => {
    expect(counted).to.deep.equal(['b', 'c']);
    doubts.lift('t/other', 1);
    expect(counted).to.deep.equal(['b', 'c']);
    doubts.lift('t/web', 1);
    expect(counted).to.deep.equal([]);
  });

  it('are decided before others, which would otherwise be given their room', () => {
    const { first } = doubts.lift('t/web', 1);
    expect(uids(first([seen('a'), seen('b'), seen('d'), seen('c')]))).to.deep.equal(['b', 'c', 'a', 'd']);
  });

  it('go on counting while they could be made and were not decided', () => {
    const waiting = [seen('a'), seen('b'), seen('c', 2)];
    doubts.lift('t/web', 1).keepOpen(waiting, [assigned('a')]);
    expect(counted, 'c has changed: the request would be refused').to.deep.equal(['b']);
    doubts.lift('t/web', 2).keepOpen(waiting, [assigned('b')]);
    expect(counted, 'b is counted by who places it').to.deep.equal([]);
  });

  it('are over when no request can be under way any more', () => {
    doubts.lift('t/web', 60_001).keepOpen([seen('b'), seen('c')], []);
    expect(counted).to.deep.equal([]);
  });
});
