import { expect } from 'chai';

import { listPhaseSteps, listRotationActions } from './rotation.js';

const view = (phase: string, holds: boolean, next: string, isAborting = false) => ({
  secret: 'db',
  phase,
  holds,
  next,
  waitsFor: holds ? null : 'containers',
  isAborting,
});

describe('a rotation', () => {
  it('is drawn as its phases', () => {
    const states = (phase: string, holds: boolean) =>
      listPhaseSteps({ phase, holds })
        .map(({ state }) => state[0])
        .join('');
    expect(states('idle', true)).to.equal('pppp');
    expect(states('stage', true)).to.equal('dppp');
    expect(states('promote', false)).to.equal('dwpp');
    expect(states('verify', true)).to.equal('dddp');
  });

  it('offers the next phase when the present one holds, and the way back while there is one', () => {
    const labels = (...given: Parameters<typeof view>) =>
      listRotationActions('web', view(...given)).map(({ label }) => label);
    expect(labels('idle', true, 'stage')).to.deep.equal(['Next: stage']);
    expect(labels('promote', false, 'verify')).to.deep.equal(['Abort']);
    expect(labels('verify', true, 'retire')).to.deep.equal(['Next: retire', 'Abort']);
    expect(labels('retire', false, 'stage')).to.deep.equal([]);
    expect(labels('stage', true, 'promote', true)).to.deep.equal([]);
  });

  it('asks twice before the old version is destroyed', () => {
    const [retire] = listRotationActions('web', view('verify', true, 'retire'));
    expect(retire).to.deep.include({ method: 'POST', body: { phase: 'retire', secret: 'db' } });
    expect(retire!.question).to.include('destroyed');
  });
});
