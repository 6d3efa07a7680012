import { expect } from 'chai';

import { gadgetKind } from '../../crds/kind/gadget.testing.js';
import { defineColumns, type Kind } from '../../crds/kind/index.js';
import { kinds } from '../../crds/kinds/index.js';
import { type PlacedKind, placedKinds } from './generated-kinds.js';
import { chooseColumns, getListPath, getObjectKey, listCommonActions } from './listing.js';
import { findObjectHref, listPlaces, maySee, toPlace } from './places.js';

describe('the kinds of the dashboard', () => {
  it('are those of the descriptors that can be listed, with their columns', () => {
    const listed = (kinds as readonly Kind[]).filter(
      ({ operations, columns }) => operations.includes('list') && columns.length > 0,
    );
    expect(placedKinds).to.have.length(listed.length);
    for (const [at, kind] of placedKinds.entries()) {
      const { columns, ...plain } = kind;
      expect(listed[at], kind.plural).to.deep.include(plain);
      expect(listed[at]!.columns, kind.plural).to.equal(columns);
    }
  });

  it('are seen by those whom the server lists them for, also by address', () => {
    const see = (role: 'viewer' | 'admin') =>
      ['tokens', 'jobs', 'overview'].filter(page => maySee({ kind: 'tenant', role }, page));
    expect([see('viewer'), see('admin')]).to.deep.equal([
      ['jobs', 'overview'],
      ['tokens', 'jobs', 'overview'],
    ]);
  });

  it('are named by the navigation in a fixed order, those of the platform left out', () => {
    expect(listPlaces().map(({ title }) => title)).to.deep.equal([
      'Overview',
      'Deployments',
      'Nodes',
      'Jobs',
      'Secrets',
      'Volumes',
      'Networks',
      'Backups',
      'Quotas',
      'Tokens',
      'Events',
    ]);
    expect(toPlace('#/tenants')).to.deep.equal({ page: 'overview' });
    expect(listPlaces().filter(({ role }) => role === 'admin')).to.have.length(1);
    expect(listPlaces().find(({ pages }) => pages.includes('new'))).to.include({ href: '#/deployments', key: 'd' });
  });

  it('have a link to an object where it has a page', () => {
    expect(findObjectHref({ kind: 'Job', name: 'a b' })).to.equal('#/jobs/a%20b');
    expect(findObjectHref({ kind: 'Volume', name: 'data' })).to.equal(undefined);
    expect(findObjectHref({ kind: 'constructor', name: 'data' })).to.equal(undefined);
    expect(getListPath('Volume')).to.equal('/api/v1/dvm/volumes');
  });
});

describe('a kind that only has a descriptor, on the dashboard', () => {
  const known: readonly PlacedKind[] = [...placedKinds, gadgetKind];
  const gadget = { name: 'first', size: 3, metadata: { uid: 'gad_1', revision: '7' } };

  it('has a place before quotas, with its list', () => {
    const titles = listPlaces(known).map(({ title }) => title);
    expect(titles.slice(titles.indexOf('Backups'), titles.indexOf('Quotas'))).to.deep.equal(['Backups', 'Gadgets']);
    expect(listPlaces(known).find(({ title }) => title === 'Gadgets')).to.deep.equal({
      title: 'Gadgets',
      href: '#/gadgets',
      pages: ['gadgets', 'gadget'],
    });
    expect(toPlace('#/gadgets', known)).to.deep.equal({ page: 'gadgets' });
    expect(toPlace('#/gadgets/first', known), 'it has no page for one').to.deep.equal({ page: 'overview' });
  });

  it('has no place when it belongs to the platform or cannot be listed', () => {
    for (const more of [{ scope: 'platform' }, { operations: ['get'] }, { columns: [] }] as const) {
      expect(toPlace('#/gadgets', [{ ...gadgetKind, ...more }])).to.deep.equal({ page: 'overview' });
    }
  });

  it('shows its columns, and those for -o wide only of objects that need attention', () => {
    const read = (kind: PlacedKind, ...objects: readonly (typeof gadget)[]) =>
      chooseColumns(kind, objects).map(({ title, read: toText }) => [title, ...objects.map(toText)]);
    expect(read(gadgetKind, gadget)).to.deep.equal([['Name', 'first']]);
    const columns = defineColumns<typeof gadget>([
      { title: 'LAST SEEN', value: () => 'then', format: 'age' },
      { title: 'SIZE', isWide: true, value: ({ size }) => String(size), isWarning: ({ size }) => size > 5 },
    ]);
    const kind = { ...gadgetKind, columns };
    expect(read(kind, gadget)).to.deep.equal([['Last seen', 'then']]);
    expect(read(kind, gadget, { ...gadget, size: 9 })).to.deep.equal([
      ['Last seen', 'then', 'then'],
      ['Size', '', '9'],
    ]);
    expect(chooseColumns(kind, [])[0]).to.include({ format: 'age' });
  });

  it('has a button that deletes one, when it can be deleted and is not being deleted', () => {
    const deletable: PlacedKind = { ...gadgetKind, operations: ['list', 'delete'] };
    expect(listCommonActions(gadgetKind, gadget)).to.deep.equal([]);
    expect(listCommonActions(deletable, gadget)).to.deep.equal([
      {
        label: 'Delete',
        method: 'DELETE',
        path: '/api/v1/gadgets/first',
        question: 'Delete the gadget first? There is no way back.',
        revision: '7',
      },
    ]);
    expect(listCommonActions(deletable, { ...gadget, metadata: { deletedAt: 'now' } })).to.deep.equal([]);
    const withId = { ...gadget, id: 'gad 1' };
    expect(listCommonActions(deletable, withId)[0], 'named by its name').to.include({ path: '/api/v1/gadgets/first' });
    const [action] = listCommonActions({ ...deletable, item: '{id}', deletedBy: 'admin' }, withId);
    expect(action).to.include({ path: '/api/v1/gadgets/gad%201', role: 'admin' });
  });

  it('keeps damaged records apart, whose uid is a substitute, and knows one again that was damaged meanwhile', () => {
    const damaged = (name: string) => ({ name, metadata: { uid: 'unusable' } });
    expect([gadget, damaged('first'), damaged('second')].map(each => getObjectKey(gadgetKind, each))).to.deep.equal([
      'first',
      'first',
      'second',
    ]);
    expect(getObjectKey(gadgetKind, { ...gadget, id: 'gad_2' })).to.equal('gad_2');
  });
});
