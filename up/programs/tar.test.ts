import { execFileSync } from 'node:child_process';

import { expect } from 'chai';

import { packTar } from './tar.js';

describe('tar', () => {
  const archive = packTar([
    { path: 'bin/', mode: 0o755, folder: true },
    { path: 'bin/tool', mode: 0o755, bytes: Buffer.from('x'.repeat(513)) },
    { path: 'bin/link', linkTo: 'tool' },
    { path: 'empty', mode: 0o600, bytes: Buffer.alloc(0) },
  ]);

  it('is read by tar', () => {
    const listed = execFileSync('tar', ['--list', '--verbose', '--numeric-owner'], {
      input: archive,
      encoding: 'utf8',
    });
    const entries = listed
      .trim()
      .split('\n')
      .map(line => line.replace(/\s+\d{4}-\S+ \S+/, '').replace(/\s+/g, ' '));

    expect(entries).to.deep.equal([
      'drwxr-xr-x 0/0 0 bin/',
      '-rwxr-xr-x 0/0 513 bin/tool',
      'lrwxrwxrwx 0/0 0 bin/link -> tool',
      '-rw------- 0/0 0 empty',
    ]);
  });

  it('holds the bytes of its files', () => {
    const bytes = execFileSync('tar', ['--extract', '--to-stdout', 'bin/tool'], { input: archive, encoding: 'utf8' });

    expect(bytes).to.equal('x'.repeat(513));
  });
});
