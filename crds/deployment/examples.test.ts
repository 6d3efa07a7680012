import { expect } from 'chai';

import { catalogue, getEntry, type RejectionCode } from '../rejections/index.js';
import { listFaults, exampleFacts, limits } from './admit.testing.js';
import { admitCreate } from './admit.js';
import type { DeploymentFacts } from './deployment.js';

/** Codes whose examples earn them with facts of their own, and their fixed form with those or with the usual facts. */
const ownFacts: Readonly<Record<string, Partial<DeploymentFacts>>> = {
  node_candidates_unresolvable: { nodes: [] },
  image_not_found: { image: 'absent' },
  image_registry_refused: { image: 'refused' },
  registry_credential_store_unavailable: { image: 'credential_store_unavailable' },
  volume_binding_unavailable: { volumeManagement: 'off' },
};

const isDocument = (example: unknown): example is Record<string, unknown> =>
  (example as { readonly kind?: unknown }).kind === 'Deployment';

const shown = (Object.keys(catalogue) as RejectionCode[]).filter(
  code => isDocument(getEntry(code).example) && code !== 'manifest_wrong_kind',
);

describe('examples on the reference pages', () => {
  it('cover the deployment', () => {
    expect(shown.length).to.be.at.least(50);
  });

  for (const code of shown) {
    const facts = { ...exampleFacts, ...ownFacts[code] };

    it(`${code}: the example earns it, and nothing else`, () => {
      expect(listFaults(admitCreate(getEntry(code).example, facts, limits)).map(([found]) => found)).to.deep.equal([
        code,
      ]);
    });

    it(`${code}: the fixed example is accepted`, () => {
      expect(listFaults(admitCreate(getEntry(code).fixed, exampleFacts, limits))).to.deep.equal([]);
    });
  }
});
