import { expect } from 'chai';

import { toFixedText } from './manifest-fix.js';

describe('a text that was fixed', () => {
  it('takes a fix that fits, and no other', () => {
    const remove = [{ op: 'remove', path: '/dependsOn/0' }] as const;
    expect(toFixedText('name: web\ndependsOn: [{ name: web }]\n', remove)).to.equal('name: web\ndependsOn: []\n');
    expect([toFixedText('name: web\n', remove), toFixedText('- a', remove)]).to.deep.equal([undefined, undefined]);
  });

  const fixes: readonly (readonly [string, string, Parameters<typeof toFixedText>[1], string])[] = [
    [
      'its comments, its order and its long lines',
      `# mine\nReplicas: 2 # two\nimage: ${'x'.repeat(100)} ${'y'.repeat(100)}\nports: [{hostPort: 1}]\n`,
      [{ op: 'move', from: '/Replicas', path: '/replicas' }],
      `# mine\nreplicas: 2 # two\nimage: ${'x'.repeat(100)} ${'y'.repeat(100)}\nports: [{hostPort: 1}]\n`,
    ],
    [
      'what a fix adds to a list',
      'networks:\n  # the first\n  - a\n',
      [{ op: 'add', path: '/networks/-', value: 'b' }],
      'networks:\n  # the first\n  - a\n  - b\n',
    ],
    [
      'what a fix puts elsewhere',
      'a: 1\nresources: {cpu: 1} # small\n',
      [{ op: 'move', from: '/a', path: '/resources/memory' }],
      'resources: {cpu: 1, memory: 1} # small\n',
    ],
    [
      'what an anchor stood for',
      'a: &x {b: 1}\nc: *x\n',
      [{ op: 'replace', path: '/c/b', value: 2 }],
      'a:\n  b: 1\nc:\n  b: 2\n',
    ],
    [
      'one name where the right one stands too',
      '# mine\nreplicas: 1 # one\nReplicas: 2 # two\nimage: x # it\n',
      [{ op: 'move', from: '/Replicas', path: '/replicas' }],
      '# mine\nreplicas: 2 # two\nimage: x # it\n',
    ],
    [
      'anchors that it leaves alone',
      'a: &x {b: 1} # shared\nc: *x\nReplicas: 2\n',
      [{ op: 'move', from: '/Replicas', path: '/replicas' }],
      'a: &x {b: 1} # shared\nc: *x\nreplicas: 2\n',
    ],
    [
      'its comments when a fix fills what it has added',
      'name: web # mine\n',
      [
        { op: 'add', path: '/resources', value: {} },
        { op: 'add', path: '/resources/cpu', value: 1 },
      ],
      'name: web # mine\nresources:\n  cpu: 1\n',
    ],
    [
      'the comment of a value that a fix replaces',
      'replicas: two # as many as needed\n',
      [{ op: 'replace', path: '/replicas', value: 2 }],
      'replicas: 2 # as many as needed\n',
    ],
  ];
  for (const [what, before, fix, after] of fixes)
    it(`keeps ${what}`, () => expect(toFixedText(before, fix)).to.equal(after));
});
