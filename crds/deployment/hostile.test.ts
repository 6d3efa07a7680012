import { expect } from 'chai';

import { assertLinearCost, sampleCases } from '../../dev/testing/index.js';
import { exampleFacts, full, least, limits } from './admit.testing.js';
import { admitCreate } from './admit.js';
import { hostileDocuments, makeDependencyCycle } from './hostile.testing.js';

describe('a hostile document', () => {
  before(() => void admitCreate(full, exampleFacts, limits));

  for (const [name, { size, fields }] of sampleCases(3, Object.entries(hostileDocuments))) {
    it(`with ${name} (${size}) is refused at a cost in proportion to its size, and the answer stays small`, async () => {
      const answer = JSON.stringify(admitCreate({ ...least, ...fields(size) }, exampleFacts, limits));
      expect(JSON.parse(answer)).to.include({ ok: false });
      expect(answer.length).to.be.below(300_000);
      await assertLinearCost({
        size,
        prepare: part => ({ ...least, ...fields(part) }),
        run: document => JSON.stringify(admitCreate(document, exampleFacts, limits)),
      });
    });
  }

  it('leaves no trace on other objects', () => {
    admitCreate(JSON.parse('{"__proto__": {"polluted": 1}, "environment": {"__proto__": "x"}}'), exampleFacts, limits);
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });
});

describe('a ring of a thousand deployments', () => {
  it('is walked through once for each dependency', () =>
    assertLinearCost({
      size: 1000,
      prepare: makeDependencyCycle,
      run: ({ deployments, dependsOn }) => {
        expect(admitCreate({ ...least, dependsOn }, { ...exampleFacts, deployments }, limits).ok).to.equal(true);
      },
    }));
});
