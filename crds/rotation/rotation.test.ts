import { expect } from 'chai';

import { defaultSecretLimits } from '../secret/index.js';
import { checkRotation, getNextPhase, rejectOvertakenStep, type RotationFacts, type RotationState } from './index.js';

const idle: RotationFacts = { state: 'idle', labels: ['web-db'], external: [] };
const at = (state: RotationState, more: Partial<RotationFacts> = {}): RotationFacts => ({ ...idle, state, ...more });
const check = (document: unknown, facts: RotationFacts) => checkRotation(document, facts, defaultSecretLimits);
const faults = (checked: ReturnType<typeof check>) =>
  checked.ok ? [] : checked.rejections.map(({ code, field }) => `${code} ${field}`);

describe('a step of a rotation', () => {
  const states: readonly RotationState[] = ['idle', 'stage', 'promote', 'verify', 'retire'];
  const phases = ['stage', 'promote', 'verify', 'retire', 'abort'] as const;
  /** For each state, the phases that are accepted once it holds. */
  const accepted: Readonly<Record<RotationState, readonly string[]>> = {
    idle: ['stage'],
    stage: ['stage', 'promote', 'abort'],
    promote: ['promote', 'verify', 'abort'],
    verify: ['verify', 'retire', 'abort'],
    retire: ['retire', 'stage'],
  };

  for (const state of states) {
    for (const phase of phases) {
      const isAccepted = accepted[state].includes(phase);
      it(`[3.15] ${phase} after ${state} is ${isAccepted ? 'accepted' : 'refused'}`, () => {
        const checked = check({ phase }, at(state));
        expect(faults(checked)).to.deep.equal(isAccepted ? [] : ['rotation_transition_invalid phase']);
        if (!checked.ok) {
          expect(checked.rejections[0].status).to.equal(409);
          expect(checked.rejections[0].fix).to.deep.equal([
            { op: 'replace', path: '/phase', value: getNextPhase(state) },
          ]);
        }
      });
    }
  }

  it('waits until the one before it holds, and says for what', () => {
    const waiting = at('promote', { waitsFor: 'all 3 replicas to be healthy' });
    const checked = check({ phase: 'verify' }, waiting);
    expect(checked.ok ? '' : checked.rejections[0].expected).to.equal(
      'verify, which waits for all 3 replicas to be healthy',
    );
    expect(checked.ok || checked.rejections[0].fix).to.equal(undefined);
    expect(faults(check({ phase: 'abort' }, waiting))).to.deep.equal([]);
    expect(rejectOvertakenStep('verify', waiting).code).to.equal('rotation_transition_invalid');
  });

  it('is a repeat when it names the current phase', () => {
    const checked = check({ phase: 'promote' }, at('promote', { waitsFor: 'x' }));
    expect(checked.ok && checked.value).to.deep.equal({ label: 'web-db', phase: 'promote', isRepeat: true });
  });

  const two = at('idle', { labels: ['web-db', 'mail'] });
  const external = at('idle', { external: ['web-db'] });
  const cases: ReadonlyArray<{ given: unknown; facts: RotationFacts; found: string[] }> = [
    { given: {}, facts: idle, found: ['rotation_transition_invalid phase'] },
    { given: { phase: 'begin' }, facts: idle, found: ['rotation_transition_invalid phase'] },
    { given: { phase: 5 }, facts: idle, found: ['rotation_transition_invalid phase'] },
    { given: { phase: 'idle' }, facts: idle, found: ['rotation_transition_invalid phase'] },
    { given: { phase: 'idle' }, facts: at('promote'), found: ['rotation_transition_invalid phase'] },
    { given: { phase: 'stage', values: {} }, facts: idle, found: ['secret_write_empty values'] },
    { given: { phase: 'stage', values: null }, facts: idle, found: ['secret_write_empty values'] },
    { given: { phase: 'stage', values: {} }, facts: external, found: ['secret_write_empty values'] },
    { given: { phase: 'stage', values: {}, generate: { keys: ['a'] } }, facts: idle, found: [] },
    { given: { phase: 'stage', values: ['x'] }, facts: idle, found: ['field_invalid values'] },
    { given: { phase: 'stage', secret: 'other' }, facts: idle, found: ['field_invalid secret'] },
    { given: { phase: 'stage' }, facts: two, found: ['field_invalid secret'] },
    { given: { phase: 'stage', secret: 'mail' }, facts: two, found: [] },
    { given: { phase: 'stage' }, facts: at('idle', { labels: [] }), found: ['field_invalid secret'] },
    { given: { phase: 'stage' }, facts: external, found: ['secret_write_empty values'] },
    { given: { phase: 'stage' }, facts: { ...external, state: 'retire' }, found: ['secret_write_empty values'] },
    { given: { phase: 'stage', values: { a: 'x' } }, facts: external, found: [] },
    {
      given: { phase: 'stage', values: { a: 'x' }, generate: { keys: ['b'] } },
      facts: external,
      found: ['secret_external_not_writable generate'],
    },
    { given: { phase: 'abort' }, facts: at('idle', { isTurnedBack: true }), found: [] },
    {
      given: { phase: 'abort', values: { a: 'x' } },
      facts: at('idle', { isTurnedBack: true }),
      found: ['field_invalid values'],
    },
    { given: { phase: 'abort' }, facts: at('retire', { waitsFor: 'x' }), found: ['rotation_transition_invalid phase'] },
    { given: { phase: 'promote', values: { a: 'x' } }, facts: at('stage'), found: ['field_invalid values'] },
    { given: { phase: 'promote', generate: { keys: ['a'] } }, facts: at('stage'), found: ['field_invalid generate'] },
    { given: { phase: 'stage', values: { a: '' } }, facts: idle, found: ['secret_value_empty values.a'] },
    {
      given: { phase: 'stage', generate: { keys: [] } },
      facts: idle,
      found: ['secret_generate_keys_required generate.keys'],
    },
    {
      given: { phase: 'stage', values: { a: 'x' }, generate: { keys: ['a'] } },
      facts: idle,
      found: ['secret_key_provided_and_generated generate.keys[0]'],
    },
    { given: { phase: 'stage', force: true }, facts: idle, found: ['field_unknown force'] },
    { given: null, facts: idle, found: ['field_invalid body'] },
  ];
  for (const { given, facts, found } of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify(given)}`, () => {
      expect(faults(check(given, facts))).to.deep.equal(found);
    });
  }
});
