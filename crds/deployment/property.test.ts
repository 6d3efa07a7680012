import { isDeepStrictEqual } from 'node:util';

import { expect } from 'chai';
import fc from 'fast-check';

import { sampleRuns } from '../../dev/testing/index.js';
import { formatCount } from '../grammar/index.js';
import { hashSpec } from '../meta/index.js';
import { undoAlterations } from '../rule/undo-alterations.testing.js';
import { listFaults, exampleFacts, full, limits } from './admit.testing.js';
import { admitCreate, admitUpdate } from './admit.js';
import { mutations, soundDocument } from './arbitrary.testing.js';

const runs = { numRuns: sampleRuns(4, 1_000) };

/** Asks the fast comparison first: the other one is for people to read. */
function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).to.deep.equal(expected);
}

type Entry = { readonly values?: Record<string, string> | undefined; readonly generate?: unknown };
type Sent = { readonly secrets?: readonly Entry[] | undefined };

/** A document as the alterations tell of it: material is described there, never repeated. */
function withoutValues(document: Sent): unknown {
  const described = document.secrets?.map(entry => ({
    ...entry,
    ...(entry.values && {
      values: `[redacted, object of ${formatCount(Object.keys(entry.values).length, 'entry', 'entries')}]`,
    }),
  }));
  return { ...document, ...(described && { secrets: described }) };
}

/** The material that must reach the secrets store. */
function valuesIn({ secrets = [] }: Sent): readonly unknown[] {
  return secrets.filter(({ values, generate }) => values ?? generate).map(({ values }) => values ?? {});
}

describe('for any sound document', () => {
  it('[4.5] admission accepts it, and what is stored minus what was announced is what was sent', () => {
    fc.assert(
      fc.property(soundDocument, document => {
        const admission = admitCreate(document, exampleFacts, limits);
        if (!admission.ok) throw new Error(JSON.stringify(admission.rejections));
        same(undoAlterations(admission.spec, admission.alterations), withoutValues(document as Sent));
        same(
          admission.material.map(({ values }) => values),
          valuesIn(document as Sent),
        );
      }),
      runs,
    );
  });

  it('admission of what was stored changes nothing more', () => {
    fc.assert(
      fc.property(soundDocument, document => {
        const first = admitCreate(document, exampleFacts, limits);
        if (!first.ok) throw new Error('refused');
        const again = admitCreate(
          { ...first.spec, metadata: { specHash: hashSpec(first.spec) } },
          exampleFacts,
          limits,
        );
        if (!again.ok) throw new Error('refused when it is sent back');
        const more = again.alterations.filter(({ field }) => field !== 'metadata');
        same({ ...again, alterations: more }, { ...first, alterations: [], material: [] });
      }),
      runs,
    );
  });

  it('one mutation earns exactly its code', () => {
    fc.assert(
      fc.property(soundDocument, fc.constantFrom(...mutations), (document, { change, code, field }) => {
        const admission = admitCreate({ ...document, ...change }, exampleFacts, limits);
        same(listFaults(admission), [[code, field]]);
      }),
      runs,
    );
  });

  it('an update to it from any other yields it, except for the name', () => {
    fc.assert(
      fc.property(soundDocument, soundDocument, (before, after) => {
        const first = admitCreate(before, exampleFacts, limits);
        if (!first.ok) throw new Error('refused');
        const metadata = { tenant: 't', uid: 'u', generation: 1, createdAt: '', updatedAt: '', specHash: '' };
        const removals = Object.fromEntries(Object.keys(full).map(field => [field, null]));
        const change = { ...removals, ...after, name: before.name };
        const updated = admitUpdate({ metadata, ...first.spec }, change, exampleFacts, limits);
        const fresh = admitCreate({ ...after, name: before.name }, exampleFacts, limits);
        same(updated.ok && updated.spec, fresh.ok && fresh.spec);
      }),
      runs,
    );
  });
});

describe('for any document at all', () => {
  it('admission answers, each field once, and never throws', () => {
    const fields = [...Object.keys(full), 'metadata', 'status', 'bogus', 'toString', '__proto__'];
    const anything = fc.dictionary(fc.constantFrom(...fields), fc.jsonValue({ maxDepth: 4 }), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(anything, document => {
        const found = listFaults(admitCreate(document, exampleFacts, limits)).map(([, field]) => field);
        expect(new Set(found).size).to.equal(found.length);
        admitUpdate({ ...full, metadata: {} as never }, document, exampleFacts, limits);
      }),
      runs,
    );
  });

  it('admission answers whatever stands anywhere in a sound one', () => {
    const noise = fc.oneof(
      fc.constantFrom(null, '', 0, -1, [], {}, true, 'x', { toString: false }, [{ toString: false }]),
      fc.jsonValue({ maxDepth: 2 }),
    );
    fc.assert(
      fc.property(soundDocument, fc.nat(), noise, (sound, which, value) => {
        const document = structuredClone(sound) as Record<string, unknown>;
        const places = buildDataPaths(document);
        const [holder, key] = places[which % places.length]!;
        holder[key] = value;
        const found = listFaults(admitCreate(document, exampleFacts, limits)).map(([, field]) => field);
        expect(new Set(found).size).to.equal(found.length);
        admitUpdate({ ...full, metadata: {} as never }, document, exampleFacts, limits);
      }),
      runs,
    );
  });
});

describe('a value of a secret', () => {
  it('is never repeated, whatever else is wrong', () => {
    const canary = 'hunter2-canary';
    const secret = { name: 'ZZ', vault_path: 'deployments/zz', anchor: 'process', values: { key: canary } };
    const noise = fc.constantFrom(null, '', 0, [], {}, 'x', { values: {} });
    fc.assert(
      fc.property(soundDocument, fc.nat(), noise, (sound, which, value) => {
        const document = structuredClone({ ...sound, secrets: [secret], environment: { A_TOKEN: canary } }) as Holder;
        const places = buildDataPaths(document);
        const [holder, key] = places[which % places.length]!;
        holder[key] = value;
        const admission = admitCreate(document, exampleFacts, limits);
        const { material: _, ...told } = admission.ok ? admission : { ...admission, material: undefined };
        expect(JSON.stringify(told)).not.to.contain(canary);
      }),
      runs,
    );
  });
});

type Holder = Record<string, unknown>;

/** Every place of a document: what holds it, and under which key. */
function buildDataPaths(holder: Holder): [Holder, string][] {
  return Object.entries(holder).flatMap(([key, value]): [Holder, string][] => [
    [holder, key],
    ...(typeof value === 'object' && value !== null ? buildDataPaths(value as Holder) : []),
  ]);
}
