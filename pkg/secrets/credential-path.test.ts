import { expect } from 'chai';
import fc from 'fast-check';

import { BrokenInvariantFault } from '../fault/index.js';
import { toCredentialPath, parseCredentialPath, formatVaultPath } from './credential-path.js';

const tenant = 'a2d1b2a0-0000-4000-8000-000000000001';

describe('credential paths', () => {
  it('are parsed and formatted', () => {
    const path = toCredentialPath(tenant, 'deployments/web-db');
    expect(path).to.deep.equal({ tenant, namespace: 'deployments', label: 'web-db' });
    expect(formatVaultPath(path)).to.equal('deployments/web-db');
  });

  const stray = [
    '..',
    '.',
    '%2e%2e',
    '%252e%252e',
    '..;',
    '..\\',
    '．．',
    '\u0000',
    'a\u0000',
    'ä',
    '',
    ' ',
    'a b',
    'A',
    '-a',
    'a-',
  ];
  const frames = [
    'deployments/X',
    'X/web',
    'deployments/X/web',
    '/deployments/X',
    'X',
    'deployments/web/X',
    'deployments//X',
  ];
  const corpus = stray.flatMap(part => frames.map(frame => frame.replace('X', part)));
  it(`[2.4.5 5.6] refuse ${corpus.length} ways to escape the tenant's namespace`, () => {
    const passed = corpus.filter(text => parseCredentialPath(tenant, text) !== undefined);
    expect(passed).to.deep.equal([]);
  });

  it('have two plain segments, whatever the input', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z.%/-]{0,20}$/)), text => {
        const path = parseCredentialPath(tenant, text);
        if (path)
          expect(`${path.namespace}/${path.label}`)
            .to.match(/^[a-z0-9-]{1,63}\/[a-z0-9-]{1,63}$/)
            .and.equal(text);
      }),
      { numRuns: 5_000 },
    );
  });

  for (const wrong of ['', '..', 'a/b', 'a%2fb', '../x', 'ten ant']) {
    it(`refuse the tenant ${JSON.stringify(wrong)}`, () => {
      expect(() => toCredentialPath(wrong, 'deployments/web')).to.throw(BrokenInvariantFault);
    });
  }
});
