import { expect } from 'chai';
import fc from 'fast-check';

import { getEntry } from '../rejections/index.js';
import { undoAlterations } from '../rule/undo-alterations.testing.js';
import { admitNetwork, type NetworkFacts } from './index.js';

const one = { id: `node_${'1'.repeat(26)}`, name: 'machine-1' };
const two = { id: `node_${'2'.repeat(26)}`, name: 'machine-2' };
const nodes: NetworkFacts = { nodes: [one, two] };
const sound = { name: 'backend', nodeId: 'machine-1' };

const faults = (document: unknown, facts: NetworkFacts = nodes) => {
  const admission = admitNetwork(document, facts);
  return admission.ok ? [] : admission.rejections.map(({ code, field }) => `${code} ${field}`);
};

describe('admission of a network', () => {
  const cases: ReadonlyArray<{ given: Record<string, unknown>; facts?: NetworkFacts; found: string[] }> = [
    { given: {}, found: [] },
    { given: { driver: 'bridge', internal: true, labels: { a: 'b' } }, found: [] },
    { given: { driver: 'overlay' }, found: ['network_option_unsupported_on_agent driver'] },
    { given: { driver: null }, found: ['network_option_unsupported_on_agent driver'] },
    { given: { subnet: '10.0.0.0/8' }, found: ['network_option_unsupported_on_agent subnet'] },
    { given: { Internal: true }, found: ['network_option_unsupported_on_agent Internal'] },
    {
      given: JSON.parse('{"__proto__": 1}') as Record<string, unknown>,
      found: ['network_option_unsupported_on_agent __proto__'],
    },
    { given: { name: undefined }, found: ['field_invalid name'] },
    { given: { name: 'Backend' }, found: ['field_invalid name'] },
    { given: { name: '../x' }, found: ['field_invalid name'] },
    { given: { internal: 'yes' }, found: ['field_invalid internal'] },
    { given: { labels: { 'a b': 'x' } }, found: ['label_invalid labels.a b'] },
    { given: { labels: { a: 5 } }, found: ['label_invalid labels.a'] },
    { given: { nodeId: undefined }, found: ['network_node_required nodeId'] },
    { given: { nodeId: undefined }, facts: { nodes: [one] }, found: [] },
    { given: { nodeId: 'machine-9' }, found: ['network_node_not_a_candidate nodeId'] },
    { given: { nodeId: 5 }, found: ['field_invalid nodeId'] },
    { given: {}, facts: { nodes: [] }, found: ['network_node_candidates_unresolvable nodeId'] },
    { given: { nodeId: undefined }, facts: { nodes: [] }, found: ['network_node_candidates_unresolvable nodeId'] },
    {
      given: { nodeId: undefined },
      facts: { nodes: 'unreadable' },
      found: ['network_node_candidates_unresolvable nodeId'],
    },
  ];
  for (const { given, facts, found } of cases) {
    it(`${found[0] ?? 'accepts'}: ${JSON.stringify({ ...given, facts })}`, () => {
      expect(faults({ ...sound, ...given }, facts)).to.deep.equal(found);
    });
  }

  it('answers 503 only when the nodes could not be read', () => {
    const status = (facts: NetworkFacts) => {
      const admission = admitNetwork(sound, facts);
      return admission.ok ? 200 : admission.rejections[0].status;
    };
    expect([status({ nodes: [] }), status({ nodes: 'unreadable' })]).to.deep.equal([422, 503]);
  });

  for (const code of [
    'network_node_not_a_candidate',
    'network_node_required',
    'network_option_unsupported_on_agent',
  ] as const) {
    it(`${code}: the example earns it, and the fixed example is accepted`, () => {
      expect(faults(getEntry(code).example).map(text => text.split(' ')[0])).to.deep.equal([code]);
      expect(faults(getEntry(code).fixed)).to.deep.equal([]);
    });
  }

  it('offers to drop an option', () => {
    const admission = admitNetwork({ ...sound, ipam: {} }, nodes);
    expect(admission.ok ? [] : admission.rejections[0].fix).to.deep.equal([{ op: 'remove', path: '/ipam' }]);
  });

  it('[4.32] stores what was sent, except for what it announces', () => {
    const document = fc.record(
      {
        name: fc.stringMatching(/^[a-z]{1,9}$/),
        driver: fc.constant('bridge'),
        labels: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.stringMatching(/^[a-z]{0,5}$/), {
          noNullPrototype: true,
        }),
        internal: fc.boolean(),
        nodeId: fc.constantFrom(one.id, one.name, two.id),
      },
      { requiredKeys: ['name', 'nodeId'], noNullPrototype: true },
    );
    fc.assert(
      fc.property(document, sent => {
        const admission = admitNetwork(sent, nodes);
        if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
        expect(undoAlterations(admission.spec, admission.alterations)).to.deep.equal(sent);
      }),
      { numRuns: 1000 },
    );
  });
});
