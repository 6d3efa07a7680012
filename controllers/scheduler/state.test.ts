import { expect } from 'chai';

import type { TenantFleets } from '../../pkg/fleet/index.js';
import type { Candidate } from '../../pkg/placement/index.js';
import type { ObservedReplica } from '../reading/index.js';
import type { Assignment } from './decide.js';
import { AssumedPlacements, ExplainThrottle } from './state.js';

const seen = (uid: string, revision = 1) => ({ replica: { uid }, revision }) as ObservedReplica;
const assigned = (uid: string): Assignment => ({ seen: seen(uid), node: { id: 'node_1' } as Candidate });
const uids = (replicas: readonly ObservedReplica[]) => replicas.map(({ replica }) => replica.uid);

describe('assumed placements', () => {
  let counted: string[];
  let assumed: AssumedPlacements;
  beforeEach(() => {
    counted = [];
    const assume: TenantFleets['assume'] = placed => {
      counted.push(...placed.map(({ uid }) => uid));
      return () => {
        counted = counted.filter(uid => !placed.some(each => each.uid === uid));
      };
    };
    assumed = new AssumedPlacements({ assume } as TenantFleets);
    assumed.keep('t/web', [assigned('b'), assigned('c')], 0);
  });

  it('keep their reservation until their deployment is reconciled again', () => {
    expect(counted).to.deep.equal(['b', 'c']);
    assumed.lift('t/other', 1);
    expect(counted).to.deep.equal(['b', 'c']);
    assumed.lift('t/web', 1);
    expect(counted).to.deep.equal([]);
  });

  it('are decided before other replicas, which would otherwise take their reservation', () => {
    const { first } = assumed.lift('t/web', 1);
    expect(uids(first([seen('a'), seen('b'), seen('d'), seen('c')]))).to.deep.equal(['b', 'c', 'a', 'd']);
  });

  it('keep their reservation while they may still be committed and were not decided', () => {
    const waiting = [seen('a'), seen('b'), seen('c', 2)];
    assumed.lift('t/web', 1).keepOpen(waiting, [assigned('a')]);
    expect(counted, 'c has changed: the request would be refused').to.deep.equal(['b']);
    assumed.lift('t/web', 2).keepOpen(waiting, [assigned('b')]);
    expect(counted, 'b is counted by who places it').to.deep.equal([]);
  });

  it('lose their reservation when no request can be under way any more', () => {
    assumed.lift('t/web', 60_001).keepOpen([seen('b'), seen('c')], []);
    expect(counted).to.deep.equal([]);
  });
});

describe('explain throttle', () => {
  it('lets small fleets be explained at any time', () => {
    const explaining = new ExplainThrottle();
    for (let number = 0; number < 100; number++) expect(explaining.waitFor(`t/${number}`, 200, 0)).to.equal(0);
  });

  it('makes deployments of large fleets wait for their turns, which take a fifth of the time', () => {
    const explaining = new ExplainThrottle();
    const waits = ['a', 'b', 'c'].map(key => explaining.waitFor(key, 10_000, 0));
    expect(waits).to.deep.equal([0, 500, 1000]);
    expect(explaining.waitFor('b', 10_000, 200), 'who asks early keeps its turn').to.equal(300);
    expect(explaining.waitFor('b', 10_000, 500)).to.equal(0);
    expect(explaining.waitFor('b', 10_000, 500), 'and then waits for another').to.equal(1000);
  });

  it('forgets a deployment that no longer waits', () => {
    const explaining = new ExplainThrottle();
    explaining.waitFor('a', 10_000, 0);
    explaining.waitFor('b', 10_000, 0);
    explaining.forget('b');
    expect(explaining.waitFor('b', 10_000, 600)).to.equal(400);
  });
});
