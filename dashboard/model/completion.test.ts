import { readFileSync } from 'node:fs';

import { expect } from 'chai';

import { assertLinearCost } from '../../dev/testing/index.js';
import { complete, type FieldSchema } from './completion.js';

const schema = JSON.parse(readFileSync('crds/manifests/deployment.schema.json', 'utf8')) as FieldSchema;

/** What is proposed where the text ends or `|` stands. */
function propose(marked: string, isAsked = false): readonly string[] {
  const at = marked.indexOf('|');
  const caret = at === -1 ? marked.length : at;
  return complete(marked.replace('|', ''), caret, schema, isAsked)?.proposals.map(({ name }) => name) ?? [];
}

const cases: readonly (readonly [string, string, readonly string[]])[] = [
  ['a field that has begun', 're', ['replicas', 'resources', 'restartedAt', 'readOnlyRootFilesystem']],
  ['capitals that were not meant', 'REPL', ['replicas']],
  ['what is not there yet', 'replicas: 1\nre|\nresources:\n', ['restartedAt', 'readOnlyRootFilesystem']],
  ['a field of a map', 'healthCheck:\n  ty', ['type']],
  ['a field of an item', 'ports:\n  - con', ['containerPort']],
  ['another field of an item', 'ports:\n  - containerPort: 80\n    ho', ['hostPort']],
  ['an item that is not indented', 'ports:\n- containerPort: 80\n  pro', ['protocol']],
  ['the next item, which may have what the first has', 'ports:\n  - containerPort: 1\n  - con', ['containerPort']],
  ['an item before another', 'ports:\n  - con|\n  - containerPort: 1', ['containerPort']],
  ['a field deep inside', 'placement:\n  antiAffinity:\n    top', ['topologyKey']],
  ['a field behind a deeper one', 'placement:\n  antiAffinity:\n    self: true\n  res', ['residency']],
  ['a value of a few', 'ports:\n  - protocol: t', ['tcp']],
  ['a yes or no', 'rollout:\n  autoRollback: t', ['true']],
  ['no other spelling of a field', 'volumes:\n  - volume', ['volumeId']],
  ['nothing that is typed already', 'replicas', []],
  ['nothing that no field begins with', 'xyz', []],
  ['nothing below a field that has a value', 'replicas: 1\n  na', []],
  ['nothing in a map of free names', 'environment:\n  re', []],
  ['nothing in the middle of a line', 're| x', []],
  ['nothing behind a value', 'name: web re', []],
  ['nothing before a word has begun', 'replicas: 1\n', []],
  ['nothing of a prototype', 'constructor:\n  na', []],
];

describe('what the editor proposes', () => {
  for (const [title, text, found] of cases) it(`is ${title}`, () => expect(propose(text)).to.deep.equal(found));

  it('is everything when it is asked for', () => {
    expect(propose('ports:\n  - containerPort: 80\n    ', true)).to.deep.equal(['hostPort', 'protocol']);
    expect(propose('ports:\n  - protocol: ', true)).to.deep.equal(['tcp', 'udp']);
    expect(propose('', true)).to.include.members(['kind', 'name', 'image']);
  });

  it('begins what stands below a name', () => {
    const insert = (text: string) => complete(text, text.length, schema)?.proposals[0]?.insert;
    expect(insert('imag')).to.equal('image: ');
    expect(insert('por')).to.equal('ports:\n  - ');
    expect(insert('placement:\n  res')).to.equal('residency:\n    ');
  });

  it('replaces the word that has begun', () => {
    expect(complete('name: web\nima', 13, schema)).to.include({ from: 10, to: 13 });
  });

  it('is found in time that grows with the text', () =>
    assertLinearCost({
      size: 4_000,
      prepare: size => `${'- '.repeat(size)}\n${'  a:\n'.repeat(size)}re`,
      run: text => complete(`${text}`, `${text}`.length, schema),
    }));
});
