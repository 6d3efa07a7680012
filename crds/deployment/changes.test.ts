import { expect } from 'chai';

import { formatChanges, summariseChanges } from './changes.js';
import type { Deployment } from './deployment.js';

const web: Deployment = { kind: 'Deployment', name: 'web', image: 'web:1', replicas: 2, secretsVersion: 0 };
const KEY = 'AKIAIOSFODNN7EXAMPLE';

describe('changes of a deployment', () => {
  const cases: readonly [name: string, from: Partial<Deployment>, to: Partial<Deployment>, words: string][] = [
    ['nothing', {}, {}, ''],
    ['a number and a text', {}, { replicas: 3, image: 'web:2' }, 'image web:1 → web:2, replicas 2 → 3'],
    [
      'one variable of several',
      { environment: { A: '1', B: 'x' } },
      { environment: { A: '2', B: 'x', C: 'y' } },
      'environment.A 1 → 2, environment.C set to y',
    ],
    [
      'a variable that every object has a property of the name of',
      {},
      { environment: { toString: 'x' } },
      'environment.toString set to x',
    ],
    ['a field that goes', { user: 'nobody' }, {}, 'user removed (was nobody)'],
    [
      'a reference to a secret, by its path',
      {},
      { secrets: [{ name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', rotation: 'restart' }] },
      'secrets set to DB=deployments/web-db',
    ],
    [
      'a template of secrets, without the template',
      { composedSecrets: { URL: 'pg://{{secret.web-db.user}}' } },
      { composedSecrets: { URL: 'pg://{{secret.web-db.name}}' } },
      'composedSecrets.URL (hidden) → (hidden)',
    ],
    ['a credential, without its value', {}, { environment: { X: KEY } }, 'environment.X set to (hidden)'],
    ['a variable named like one', {}, { environment: { DB_PASS: 'hunter2' } }, 'environment.DB_PASS set to (hidden)'],
    ['a credential in a command', { command: ['run'] }, { command: ['run', KEY] }, 'command (hidden) → (hidden)'],
    [
      'a command with a password, without it',
      { command: ['run', '--verbose=1'] },
      { command: ['run', '--password', 'hunter2'] },
      'command (hidden) → (hidden)',
    ],
    ['an option that holds one', {}, { entrypoint: ['/x', '--db-password=hunter2'] }, 'entrypoint set to (hidden)'],
    ['an option that does not', {}, { command: ['--password-file', '/x'] }, 'command set to ["--password-file","/x"]'],
    [
      'more than a sentence holds',
      {},
      { labels: { a: '1', b: '2', c: '3', d: '4', e: '5' } },
      'labels.a set to 1, labels.b set to 2, labels.c set to 3, and 2 more',
    ],
  ];
  for (const [name, from, to, words] of cases) {
    it(`name ${name}`, () => {
      expect(formatChanges(summariseChanges({ ...web, ...from }, { ...web, ...to }))).to.equal(words);
    });
  }

  it('are bounded in number and length', () => {
    const labels = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, 'v'.repeat(500)]));
    const { changes, more } = summariseChanges(web, { ...web, labels });
    expect([changes.length, more]).to.deep.equal([20, 30]);
    expect(Math.max(...changes.map(({ to }) => to!.length))).to.equal(120);
  });
});
