import { expect } from 'chai';

import { formatAgentRun, judgeRun, parseAgentRun } from './agent-run.js';
import { isDouble } from './doubles.js';
import { replica } from './dispatcher-lab.testing.js';
import type { Report } from '../../crds/report/index.js';

const [ONE, TWO, THREE] = ['1'.repeat(16), '2'.repeat(16), '3'.repeat(16)] as const;

describe('the run of an agent', () => {
  it('is written into a header and read from it', () => {
    for (const run of [
      { id: ONE, ended: [] },
      { id: ONE, ended: [TWO, THREE] },
    ])
      expect(parseAgentRun(formatAgentRun(run))).to.deep.equal(run);
    const many = { id: ONE, ended: Array.from({ length: 20 }, () => TWO) };
    expect(parseAgentRun(formatAgentRun(many))?.ended).to.have.length(8);
  });

  it('is not read from anything else', () => {
    for (const header of ['', 'v1', 'v1.', `v2.${ONE}`, `v1.${ONE}.`, `v1.${ONE}.x`, `v1.${ONE.toUpperCase()}x`]) {
      expect(parseAgentRun(header), header).to.equal(undefined);
    }
    expect(parseAgentRun(`v1.${Array.from({ length: 10 }, () => ONE).join('.')}`)).to.equal(undefined);
  });

  const run = (id: string, ...ended: string[]) => ({ id, ended });
  for (const [what, presence, claims, verdict] of [
    ['a node without an agent is taken over', undefined, run(ONE), 'takes_over'],
    ['the run that has the node keeps it', { run: ONE }, run(ONE), 'holds'],
    ['another run is refused', { run: ONE }, run(TWO), 'refused'],
    ['a run that knows that the holder has ended takes over', { run: ONE }, run(TWO, ONE), 'takes_over'],
    ['the second successor of one run is refused', { run: TWO }, run(THREE, ONE), 'refused'],
    ['the run before the holder is refused', { run: TWO }, run(ONE), 'refused'],
  ] as const)
    it(`decides who has the node: ${what}`, () => expect(judgeRun(presence, claims)).to.equal(verdict));
});

describe('a container of an agent that was refused', () => {
  const report = (change: Partial<Report> = {}): Report => ({
    replica: 'rep_1',
    deployment: 'web',
    slot: 0,
    nodeId: 'node_1',
    templateHash: 'hash',
    state: 'running',
    health: 'none',
    restarts: 0,
    containerId: 'theirs',
    at: '',
    ...change,
  });
  for (const [what, placed, reported, doubled] of [
    ['is stopped when the holder reports another one that runs', replica(), report(), true],
    ['is stopped when that one is healthy', replica(), report({ health: 'healthy' }), true],
    ['is kept when the holder reports the very same one', replica(), report({ containerId: 'own' }), false],
    ['is kept while the other one is not ready', replica(), report({ health: 'starting' }), false],
    ['is kept while the other one is unhealthy', replica(), report({ health: 'unhealthy' }), false],
    ['is kept when the other one has exited', replica(), report({ state: 'exited' }), false],
    ['is kept when the holder reports nothing of it', replica(), undefined, false],
    ['is stopped when its replica is no longer placed on the node', undefined, undefined, true],
  ] as const)
    it(what, () => expect(isDouble('own', placed, reported)).to.equal(doubled));
});
