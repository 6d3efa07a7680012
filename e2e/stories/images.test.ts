import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect } from 'chai';

import { buildDemoImage, RegistryProcess } from '../../dev/processes/index.js';
import { systemRandom } from '../../pkg/clock/index.js';
import { loadSettings } from '../../pkg/config/index.js';
import { openSecretStore, toCredentialPath, toRegistryPath, toSecretDocument } from '../../pkg/secrets/index.js';
import { createCanary, findLeaks } from '../lab/canary.js';
import { ControlPlane } from '../lab/control-plane.js';
import { TenantClient, unwrap } from '../lab/tenant-client.js';

const NAMESPACES = { MOORING_SECRETS_NAMESPACES: 'deployments,resources,registries' };
/** What `htpasswd -nB robot` prints for a password. Perl is part of every Debian, and asks the same library. */
const usersFile = (password: string) => {
  const script = 'local $/; print "robot:", crypt(<STDIN>, q($2y$05$abcdefghijklmnopqrstuu)), "\\n"';
  return execFileSync('perl', ['-e', script], { input: password, encoding: 'utf8' });
};

interface Written {
  readonly image: string;
  readonly warnings: readonly { readonly code: string; readonly secret?: string }[];
}

describe('the image of a deployment', () => {
  const password = createCanary('registry password');
  let plane: ControlPlane;
  let registry: RegistryProcess;
  let shop: TenantClient;
  let image: string;

  before(async () => {
    plane = await ControlPlane.start(NAMESPACES);
    registry = await serve();
    image = await buildDemoImage(registry.address, { tag: '1' });
    shop = await TenantClient.open(plane, 'shop');
  });
  after(async () => {
    await registry?.kill();
    await plane?.stop();
  });

  const serve = (auth?: Readonly<Record<string, unknown>>) => {
    const [folder, port] = [join(plane.folder, 'registry'), plane.registryPort];
    return RegistryProcess.start({ folder, port, ...(auth && { auth }) });
  };
  /** Puts the tenant's credential where the server will look for it. */
  const keep = async (values: Readonly<Record<string, string>>) => {
    const store = plane.openStore();
    const environment = { MOORING_KEY_FILE: join(plane.folder, 'keys'), ...NAMESPACES };
    const secrets = await openSecretStore(loadSettings({ environment }).settings, { store, random: systemRandom });
    const path = toCredentialPath(shop.id, toRegistryPath(registry.address));
    await secrets.write(path, { document: toSecretDocument(values), after: 0, as: 'current' });
    await store.close();
  };
  const post = (name: string, asked: string) => {
    const body = { kind: 'Deployment', name, image: asked };
    return shop.client.request<Written>('POST', '/api/v1/deployments', { body });
  };
  /** The codes in the answer: of rejections, or of warnings. */
  const codes = async (name: string, asked: string) => {
    const answer = await post(name, asked);
    const found = answer.ok ? answer.value.warnings : answer.rejections;
    return [answer.ok, ...found.map(({ code }) => code)];
  };

  it('[2.2.12 7.1.11] is found, or is refused until it is pushed', async () => {
    expect(await codes('web', image)).to.deep.equal([true]);
    expect(await codes('next', `${registry.address}/mooring/demo:2`)).to.deep.equal([false, 'image_not_found']);
    expect(await codes('none', `${registry.address}/mooring/none:1`)).to.deep.equal([false, 'image_not_found']);
    await buildDemoImage(registry.address, { tag: '3' });
    expect(await codes('next', `${registry.address}/mooring/demo:3`)).to.deep.equal([true]);
  });

  it('[7.1.10] is accepted while its registry is away, with a warning', async () => {
    await registry.kill('SIGKILL');
    const away = await codes('away', `${registry.address}/mooring/demo:4`);
    expect(away).to.deep.equal([true, 'image_registry_unreachable']);
    await registry.restart();
    expect(await codes('back', `${registry.address}/mooring/demo:5`)).to.deep.equal([false, 'image_not_found']);
  });

  it('is not looked for in the store, whose port a tenant may guess', async () => {
    const { host } = new URL(plane.etcd.endpoint);
    for (const place of [host, host.replace('127.0.0.1', 'localhost'), host.replace('127.0.0.1', '[::1]')]) {
      const guess = await codes(`guess-${place.replace(/[^a-z0-9]+/g, '')}x`, `${place}/v2/keys:1`);
      expect(guess, place).to.deep.equal([false, 'image_registry_refused']);
    }
  });

  it('is found in a private registry by the tenant that has the password, and by no other', async () => {
    await buildDemoImage(registry.address, { tag: '8' });
    await registry.kill();
    await writeFile(join(plane.folder, 'users'), usersFile(password.value));
    registry = await serve({ htpasswd: { realm: 'story', path: join(plane.folder, 'users') } });
    const demo = (tag: number) => `${registry.address}/mooring/demo:${tag}`;
    expect(await codes('locked', demo(6))).to.deep.equal([true, 'image_registry_login_required']);
    const { warnings } = unwrap(await post('named', demo(6)));
    expect(warnings[0]).to.include({ secret: toRegistryPath(registry.address) });

    await keep({ host: registry.address, username: 'robot', password: password.value });
    expect(await codes('private', demo(8))).to.deep.equal([true]);
    expect(await codes('missing', demo(7))).to.deep.equal([false, 'image_not_found']);

    shop = await TenantClient.open(plane, 'another');
    expect(await codes('private', demo(8))).to.deep.equal([true, 'image_registry_login_required']);
    await keep({ host: registry.address, username: 'robot', password: 'wrong' });
    expect(await codes('guessed', demo(8))).to.deep.equal([true, 'image_registry_credential_refused']);
  });

  it('has its registry’s password sent to the registry alone', async () => {
    expect(await findLeaks(plane, [password])).to.deep.equal([]);
  });
});
