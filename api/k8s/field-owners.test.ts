import { expect } from 'chai';
import fc from 'fast-check';

import type { FieldManager } from '../../crds/meta/index.js';
import { applyFields, type Owner, ownChanges, readOwners, recordOwners, toManagedFields } from './field-owners.js';
import { findAt, isSet, listLeaves } from './fields.js';

const manager = (name: string, operation: FieldManager['operation'] = 'Apply', at = '2026-01-01T00:00:00.000Z') => ({
  name,
  operation,
  at,
});
const owner = (name: string, ...pointers: readonly string[]): Owner => ({
  manager: manager(name),
  pointers: new Set(pointers),
});
const spec = (fields: object) => ({ metadata: {}, spec: fields });
const show = (owners: readonly Owner[]) =>
  Object.fromEntries(
    owners
      .filter(({ pointers }) => pointers.size > 0)
      .map(each => [each.manager.name, [...each.pointers].map(pointer => pointer.replace('/spec', '')).sort()]),
  );

describe('server-side apply', () => {
  /** What is stored, who owns it, what `me` sends, and what comes of it: the spec and the owners, or who is in the way. */
  const cases: readonly [
    what: string,
    live: object,
    owners: Readonly<Record<string, readonly string[]>>,
    sent: object,
    result: object | string,
    after?: object,
  ][] = [
    ['sets', { a: 1 }, {}, { b: 2 }, { a: 1, b: 2 }, { me: ['/b'] }],
    ['shares what is equal', { a: 1 }, { you: ['/a'] }, { a: 1 }, { a: 1 }, { me: ['/a'], you: ['/a'] }],
    ['is refused what another has set otherwise', { a: 1 }, { you: ['/a'] }, { a: 2 }, 'you /a'],
    ['changes its own', { a: 1 }, { me: ['/a'] }, { a: 2 }, { a: 2 }, { me: ['/a'] }],
    ['is refused what it shares', { a: 1 }, { me: ['/a'], you: ['/a'] }, { a: 2 }, 'you /a'],
    ['takes what nobody has set', { a: 1 }, {}, { a: 2 }, { a: 2 }, { me: ['/a'] }],
    ['removes what it does not send', { a: 1, b: 2 }, { me: ['/a', '/b'] }, { a: 1 }, { a: 1 }, { me: ['/a'] }],
    ['leaves what another has set too', { a: 1 }, { me: ['/a'], you: ['/a'] }, {}, { a: 1 }, { you: ['/a'] }],
    ['merges maps', { m: { a: 1 } }, { you: ['/m/a'] }, { m: { b: 2 } }, { m: { a: 1, b: 2 } }],
    ['removes a map with its last entry', { m: { a: 1 }, b: 1 }, { me: ['/m/a'] }, {}, { b: 1 }, {}],
    [
      'keeps a map that it sends without entries',
      { m: { a: 1 } },
      { me: ['/m/a'] },
      { m: {} },
      { m: {} },
      { me: ['/m'] },
    ],
    ['keeps entries of others in such a map', { m: { a: 1 } }, { you: ['/m/a'] }, { m: {} }, { m: { a: 1 } }],
    ['keeps what nobody has set in its map', { m: { x: 1 } }, { me: ['/m'] }, { m: { b: 2 } }, { m: { x: 1, b: 2 } }],
    ['replaces lists whole', { l: [1, 2] }, { me: ['/l'] }, { l: [2] }, { l: [2] }, { me: ['/l'] }],
    ['is refused a list of another', { l: [1] }, { you: ['/l'] }, { l: [1, 2] }, 'you /l'],
    ['is refused to replace a map of another', { m: { a: 1 } }, { you: ['/m/a'] }, { m: [1] }, 'you /m'],
    ['is refused to look into a list of another', { m: [1] }, { you: ['/m'] }, { m: { a: 1 } }, 'you /m/a'],
    ['goes from a list to a map', { m: [1] }, { me: ['/m'] }, { m: { a: 1 } }, { m: { a: 1 } }, { me: ['/m/a'] }],
    ['takes null for nothing', { a: 1 }, { me: ['/a'] }, { a: null }, {}, {}],
    ['tells names with a slash apart', { 'x/a': 1 }, { you: ['/x~1a'] }, { x: { a: 2 } }, { 'x/a': 1, x: { a: 2 } }],
    [
      'names everybody in the way',
      { a: 1, b: 1 },
      { you: ['/a'], her: ['/a', '/b'] },
      { a: 2, b: 2 },
      'you /a, her /a, her /b',
    ],
  ];
  for (const [what, live, owners, sent, result, after] of cases) {
    it(what, () => {
      const own = Object.entries(owners).map(([name, list]) => owner(name, ...list.map(each => `/spec${each}`)));
      const given = { live: spec(live), owners: own, sent: spec(sent), manager: manager('me') };
      const applied = applyFields({ ...given, force: false });
      if (typeof result === 'string') {
        if (applied.ok) throw new Error('it was applied');
        const names = applied.conflicts.map(each => `${each.manager.name} ${each.pointer.replace('/spec', '')}`);
        expect(names.join(', ')).to.equal(result);
        const forced = applyFields({ ...given, force: true });
        if (!forced.ok) throw new Error('force was refused');
        expect(forced.tree['spec']).to.deep.include(sent);
        expect(show(forced.owners)).to.deep.equal({ me: [...listLeaves(sent).keys()].sort() });
        return;
      }
      if (!applied.ok) throw new Error(`refused by ${JSON.stringify(applied.conflicts)}`);
      expect(applied.tree).to.deep.equal(spec(result));
      if (after) expect(show(applied.owners)).to.deep.equal(after);
    });
  }

  it('of an object that nobody has applied finds everything set', () => {
    const [first] = readOwners(undefined, spec({ a: 1, m: { b: [] } }), 'then');
    expect([first?.manager.name, [...first!.pointers]]).to.deep.equal(['before-first-apply', ['/spec/a', '/spec/m/b']]);
  });

  it('finds what others have changed since, and leaves defaults to nobody', () => {
    const recorded = recordOwners([owner('me', '/spec/a', '/spec/b', '/spec/c')], spec({ a: 1, b: 2, c: 3, d: 4 }));
    const now = readOwners(recorded, spec({ a: 1, b: 9, d: 4, e: 5 }), 'then');
    expect(show(now)).to.deep.equal({ me: ['/a'], 'mooring-api': ['/b', '/e'] });
  });

  it('gives what is changed otherwise to who changes it', () => {
    const before = spec({ a: 1, m: { x: 1, y: 1 }, gone: 1 });
    const owners = [owner('me', '/spec/a', '/spec/m/x', '/spec/m/y', '/spec/gone')];
    const after = spec({ a: 2, m: { x: 1, y: 1, z: 1 } });
    const next = ownChanges(owners, { before, after, manager: manager('you', 'Update') });
    expect(show(next)).to.deep.equal({ me: ['/m/x', '/m/y'], you: ['/a', '/m/z'] });
    expect(ownChanges(owners, { before, after: before, manager: manager('you', 'Update') })).to.deep.equal(owners);
  });

  it('forgets the oldest of many, and not that they have set something', () => {
    let owners: readonly Owner[] = [];
    let live = spec({});
    for (let at = 0; at < 30; at++) {
      const after = spec({ ...live.spec, [`f${at}`]: 1 });
      const day = `2026-01-${String(at + 1).padStart(2, '0')}T00:00:00.000Z`;
      owners = ownChanges(owners, { before: live, after, manager: manager(`m${at}`, 'Update', day) });
      live = after;
    }
    expect(owners.length).to.be.at.most(11);
    expect(new Set(owners.flatMap(({ pointers }) => [...pointers])).size).to.equal(30);
    expect(show(owners)).to.include.keys('ancient-changes', 'm29');
  });

  it('is shown as Kubernetes writes it', () => {
    const owners = [
      owner('me', '/spec/environment/A', '/spec/image', '/metadata/labels/example.com~1team'),
      owner('nobody'),
    ];
    expect(toManagedFields(owners, 'mooring.io/v1')).to.deep.equal([
      {
        manager: 'me',
        operation: 'Apply',
        apiVersion: 'mooring.io/v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:spec': { 'f:environment': { 'f:A': {} }, 'f:image': {} },
          'f:metadata': { 'f:labels': { 'f:example.com/team': {} } },
        },
      },
    ]);
  });

  const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'x/y');
  const leaf = fc.oneof(fc.integer({ min: 0, max: 2 }), fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 2 }));
  const { tree } = fc.letrec<{ tree: object; value: unknown }>(tie => ({
    tree: fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    value: fc.oneof({ maxDepth: 2 }, leaf, tie('tree')),
  }));
  const actions = fc.array(
    fc.record({
      who: fc.constantFrom('p', 'q'),
      sent: tree,
      /** What is stored of these is sent too. */
      shared: fc.subarray(['a', 'b', 'c']),
      force: fc.boolean(),
      how: fc.constantFrom('apply', 'apply', 'apply', 'ours'),
    }),
    { minLength: 2, maxLength: 6 },
  );

  it('property: says what was sent, leaves what others own, and does nothing when repeated', () => {
    fc.assert(
      fc.property(tree, actions, (first, list) => {
        let live: object = spec(first);
        let recorded = undefined as ReturnType<typeof recordOwners> | undefined;
        for (const { who, sent: drawn, shared, force, how } of list) {
          if (how === 'ours') {
            live = spec(drawn);
            continue;
          }
          const stored = (live as { readonly spec: Readonly<Record<string, unknown>> }).spec;
          const known = shared.filter(each => Object.hasOwn(stored, each));
          const sent = {
            ...(known.length === 0 && drawn),
            ...Object.fromEntries(known.map(each => [each, stored[each]])),
          };
          const owners = readOwners(recorded, live as never, 'then');
          const given = { live: live as never, owners, sent: spec(sent) as never, manager: manager(who), force };
          const applied = applyFields(given);
          if (!applied.ok) {
            expect(force).to.equal(false);
            continue;
          }
          for (const [pointer, value] of listLeaves(spec(sent))) {
            expect(isSet(applied.tree, pointer, value), pointer).to.equal(true);
          }
          if (!force) {
            const others = owners.filter(each => each.manager.name !== who || each.manager.operation !== 'Apply');
            for (const pointer of others.flatMap(each => [...each.pointers])) {
              const was = findAt(live, pointer);
              const isMap = typeof was === 'object' && !Array.isArray(was);
              if (!isMap) expect(findAt(applied.tree, pointer), pointer).to.deep.equal(was);
            }
          }
          recorded = recordOwners(applied.owners, applied.tree);
          live = applied.tree;
          const now = readOwners(recorded, live as never, 'later');
          expect(show(now)).to.deep.equal(show(applied.owners));
          const again = applyFields({ ...given, live: live as never, owners: now, force: false });
          if (!again.ok) throw new Error('the same again was refused');
          expect(again.tree).to.deep.equal(live);
          expect(recordOwners(again.owners, again.tree)).to.deep.equal(recorded);
        }
      }),
      { numRuns: 300 },
    );
  });
});
