import { expect } from 'chai';

import type { ArchivedRevision } from '../archive/index.js';
import { hashSpec } from '../meta/index.js';
import { chooseBackupRevisions } from './index.js';

const revision = (number: number, environment: Readonly<Record<string, string>>): ArchivedRevision => {
  const spec = {
    kind: 'Deployment',
    name: 'web',
    image: 'web:1',
    replicas: 1,
    secretsVersion: 0,
    environment,
  } as const;
  const about = { revision: number, at: '', by: 'a', operation: 'b', change: 'update', alterations: [] } as const;
  return { ...about, specHash: hashSpec(spec), secretsVersion: 0, spec };
};
const numbers = (revisions: readonly ArchivedRevision[]) => revisions.map(each => each.revision);
const some = (count: number, environment: Readonly<Record<string, string>>) =>
  Array.from({ length: count }, (_, at) => revision(at + 1, environment));

describe('the revisions that a backup has room for', () => {
  it('are all of them when they are small', () => {
    expect(numbers(chooseBackupRevisions(some(50, {})))).to.have.length(50);
    expect(chooseBackupRevisions([])).to.deep.equal([]);
  });

  it('are the newest when they are large, by bytes and by the number of values', () => {
    expect(numbers(chooseBackupRevisions(some(10, { A: 'x'.repeat(100 * 1024) })))).to.deep.equal([6, 7, 8, 9, 10]);
    const many = Object.fromEntries(Array.from({ length: 1_990 }, (_, at) => [`V${at}`, 'x']));
    expect(numbers(chooseBackupRevisions(some(10, many)))).to.deep.equal([9, 10]);
    expect(chooseBackupRevisions([revision(1, { A: 'x'.repeat(600 * 1024) })])).to.deep.equal([]);
  });
});
