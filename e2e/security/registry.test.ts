import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { buildDemoImage, RegistryProcess } from '../../dev/processes/index.js';
import { ControlPlane } from '../lab/control-plane.js';

const login = { username: 'mooring', password: 'a password of this test' };

describe('the development registry, attacked from the machine that it runs on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mooring-registry-'));
  let registry: RegistryProcess;

  before(async () => {
    registry = await RegistryProcess.start({ folder: join(folder, 'registry'), login });
    await buildDemoImage(registry.address, { login });
  });
  after(async () => {
    await registry.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      const sent = request(`http://${registry.address}${path}`, { method, headers }, answer => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode ?? 0));
      });
      sent.once('error', reject);
      sent.end();
    });

  it('is neither read nor written without its login', async () => {
    const requests = ['GET /v2/_catalog', 'GET /v2/mooring/demo/manifests/1', 'POST /v2/mooring/demo/blobs/uploads/'];
    for (const text of requests) {
      const [method = '', path = ''] = text.split(' ');
      expect(await ask(method, path), text).to.equal(401);
      expect(await ask(method, path, { host: 'attacker.example:7071' }), `${text} by a page`).to.equal(401);
    }
  });

  it('keeps no password in its files, and these to their owner', () => {
    const users = join(folder, 'registry', 'users');

    expect(readFileSync(users, 'utf8'))
      .to.match(/^mooring:\$2y\$/)
      .and.not.to.contain(login.password);
    expect(statSync(users).mode & 0o777).to.equal(0o600);
  });

  it('is asked by the API server with the login of the platform', async () => {
    const auth = btoa(`${login.username}:${login.password}`);
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ auths: { [registry.address]: { auth } } }));
    const plane = await ControlPlane.start({
      MOORING_REGISTRY_INSECURE: registry.address,
      MOORING_REGISTRY_LOGINS_FILE: join(folder, 'config.json'),
    });
    try {
      const client = plane.client(plane.access.tenantToken);
      const post = (name: string, tag: string) => {
        const image = `${registry.address}/mooring/demo:${tag}`;
        return client.request('POST', '/api/v1/deployments', { body: { kind: 'Deployment', name, image } });
      };
      expect(await post('present', '1')).to.have.property('ok', true);
      expect(await post('absent', '2')).to.have.nested.property('rejections[0].code', 'image_not_found');
      const log = readFileSync(join(plane.folder, 'api.log'), 'utf8');
      expect(log).to.not.contain(auth).and.not.contain(login.password);
    } finally {
      await plane.stop();
    }
  });
});
