import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';
import { parse } from 'yaml';

import { useCommandLab } from './command-lab.testing.js';

const TENANT = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';

describe('moor kubeconfig', () => {
  const lab = useCommandLab();
  beforeEach(() => {
    lab.api.replies.set('GET /api/v1/tenants/self', { status: 200, body: { id: TENANT, name: 'shop' } });
  });

  it('prints where the face is, the token, the authority, and the namespace of the tenant', async () => {
    const caFile = join(lab.folder, 'ca.pem');
    writeFileSync(caFile, 'an authority');
    const { code, out } = await lab.moor(['--ca-file', caFile, 'kubeconfig']);
    expect(code).to.equal(0);
    const config = parse(out) as Record<string, unknown>;
    expect(config['clusters']).to.deep.equal([
      {
        name: 'mooring',
        cluster: {
          server: `${lab.api.address.replace('http:', 'https:')}/k8s`,
          'certificate-authority-data': Buffer.from('an authority').toString('base64'),
        },
      },
    ]);
    expect(config['users']).to.deep.equal([{ name: 'mooring', user: { token: lab.token } }]);
    expect(config['contexts']).to.deep.equal([
      { name: 'shop', context: { cluster: 'mooring', user: 'mooring', namespace: TENANT } },
    ]);
    expect(config['current-context']).to.equal('shop');
  });

  it('reads a tenant and nothing else, whatever is named as one', async () => {
    lab.api.replies.set('GET /api/v1/nodes/n1', { status: 200, body: { id: 'node_1', name: 'n1' } });
    const caFile = join(lab.folder, 'ca.pem');
    writeFileSync(caFile, 'an authority');
    for (const tenant of ['../nodes/n1', '..\\nodes\\n1', 'self?x=y', 'self#']) {
      const { code, out } = await lab.moor(['--ca-file', caFile, '--tenant', tenant, 'kubeconfig']);
      expect([tenant, code, out]).to.deep.equal([tenant, 3, '']);
    }
  });

  it('says what is missing where kubectl could not use it', async () => {
    const { code, out, err } = await lab.moor(['kubeconfig']);
    expect(code).to.equal(2);
    expect(out).to.equal('');
    expect(err).to.contain('kubectl sends no token over plain HTTP');
    expect(err).to.not.contain(lab.token);
  });
});
