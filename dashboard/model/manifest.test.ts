import { expect } from 'chai';

import { assertLinearCost, sampleRuns } from '../../dev/testing/index.js';
import {
  describeRecreated,
  draftManifest,
  listLineProblems,
  readManifestText,
  toManifestText,
  toReplacingBody,
} from './manifest.js';
import type { DeploymentView } from './views.js';

const stored = {
  kind: 'Deployment',
  name: 'web',
  image: 'web:1',
  replicas: 2,
  secretsVersion: 3,
  environment: { A: '1' },
  placement: { labels: { x: 'y' } },
  metadata: { uid: 'dep_1' },
  status: {},
} as unknown as DeploymentView;

const declared = (image: string, createdAt: string) => ({ image, metadata: { createdAt } });

describe('a text that declares a deployment', () => {
  it('has a value, and the line of each field or of what it would stand in', () => {
    const { value, problems, findLine } = readManifestText(draftManifest(new Map()));
    expect(value).to.include({ kind: 'Deployment', name: 'web' });
    expect(problems).to.deep.equal([]);
    expect([
      findLine('image'),
      findLine('resources.memory'),
      findLine('resources.disk'),
      findLine('zzz'),
    ]).to.deep.equal([3, 7, 6, 1]);
  });

  it('begins under a name that no other deployment has', () => {
    const names = [[], ['web'], ['web', 'web-2', 'web-4']].map(taken =>
      readManifestText(draftManifest(new Map(taken.map(name => [name, declared('web:1', '2030-01-01')])))),
    );
    expect(names.map(({ value }) => value?.['name'])).to.deep.equal(['web', 'web-2', 'web-3']);
  });

  it('begins with the image that was declared last, and with none where there is none', () => {
    const [old, last] = [declared('shop/db:1', '2030-01-01'), declared('shop/web:2', '2030-01-02')];
    for (const all of [
      [old, last],
      [last, old],
    ]) {
      const deployments = new Map(all.map((each, at) => [`d-${at}`, each]));
      expect(readManifestText(draftManifest(deployments)).value).to.include({ image: 'shop/web:2' });
    }
    expect(readManifestText(draftManifest(new Map())).value).to.include({ image: null });
  });

  it('says where it cannot be read', () => {
    expect(readManifestText('name: web\nimage: "x').problems[0]).to.include({ line: 2 });
    for (const text of ['', '- a', 'text', 'a: *nobody']) {
      const { value, problems } = readManifestText(text);
      expect([value, problems.length > 0], text).to.deep.equal([undefined, true]);
    }
  });

  it('is what was asked for, without what the server has added', () => {
    const text = toManifestText(stored);
    expect(text)
      .to.include('image: web:1')
      .and.not.match(/metadata|status|secretsVersion|placement/);
  });

  it('removes what was taken out of it, and keeps what it says', () => {
    expect(toReplacingBody({ kind: 'Deployment', name: 'web', image: 'web:2', replicas: 2 }, stored)).to.deep.equal({
      kind: 'Deployment',
      name: 'web',
      image: 'web:2',
      replicas: 2,
      environment: null,
    });
    expect(toReplacingBody({ name: 'web' }, undefined)).to.deep.equal({ name: 'web' });
  });

  it('is read in time that grows with its length', () =>
    assertLinearCost({
      size: sampleRuns(4, 4_000),
      prepare: size => 'a: [x, y]\n'.repeat(size),
      run: text => readManifestText(`${text}`),
    }));
});

describe('what is wrong with a text, line by line', () => {
  const taken = { code: 'deployment_already_exists', field: 'name', why: 'it is taken' };
  const other = { code: 'value_out_of_range', field: 'replicas', expected: '0 or more', why: 'it is -1' };
  const listFor = (text: string) => listLineProblems(readManifestText(text), [other, taken]);

  it('is in the order of the lines, and a taken name leads to its deployment', () => {
    expect(listFor('name: a b\nreplicas: -1\n')).to.deep.equal([
      {
        line: 1,
        code: taken.code,
        fix: undefined,
        instead: { href: '#/deployments/a%20b/edit', text: 'Change a b instead' },
        text: 'name: it is taken',
      },
      {
        line: 2,
        code: other.code,
        fix: undefined,
        instead: undefined,
        text: 'replicas: expected 0 or more. it is -1',
      },
    ]);
  });

  it('leads nowhere for a name that no address can have', () => {
    const problems = listFor('name: "\\ud83d"\nreplicas: -1\n');
    expect(problems.map(({ instead }) => instead)).to.deep.equal([undefined, undefined]);
  });
});

describe('what a change recreates', () => {
  const nodes = [{ id: 'node_1', name: 'a' }];
  const cases: readonly (readonly [string, Parameters<typeof describeRecreated>[0], string])[] = [
    ['nothing', [], 'No container is recreated.'],
    ['one that has a node', [{ replica: 0, nodeId: 'node_1' }], 'Recreated: replica 0 on a.'],
    ['one on a node that is not known', [{ replica: 1, nodeId: 'node_9' }], 'Recreated: replica 1 on node_9.'],
    ['one without a node', [{ replica: 2, nodeId: null }], 'Recreated: replica 2, which has no node yet.'],
  ];
  for (const [name, recreated, said] of cases) {
    it(`names ${name}`, () => expect(describeRecreated(recreated, nodes)).to.equal(said));
  }

  it('is no list without an end', () => {
    const many = Array.from({ length: 500 }, (_, replica) => ({ replica, nodeId: 'node_1' }));
    expect(describeRecreated(many, nodes)).to.match(/replica 19 on a, and 480 more\.$/);
  });
});
