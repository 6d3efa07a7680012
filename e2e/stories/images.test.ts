import { join } from 'node:path';

import { expect } from 'chai';

import { demoImage, RegistryProcess } from '../../pkg/processes/index.js';
import { ControlPlane } from '../lab/control-plane.js';
import { TenantDesk } from '../lab/tenant-desk.js';

interface Written {
  readonly image: string;
  readonly warnings: readonly { readonly code: string }[];
}

describe('an image that is asked for', () => {
  let plane: ControlPlane;
  let registry: RegistryProcess;
  let shop: TenantDesk;
  let image: string;

  before(async () => {
    plane = await ControlPlane.start();
    registry = await RegistryProcess.start({ folder: join(plane.folder, 'registry'), port: plane.registryPort });
    image = await demoImage(registry.address, { tag: '1' });
    shop = await TenantDesk.open(plane, 'shop');
  });
  after(async () => {
    await registry?.kill();
    await plane?.stop();
  });

  const post = (name: string, asked: string) => {
    const body = { kind: 'Deployment', name, image: asked };
    return shop.client.request<Written>('POST', '/api/v1/deployments', { body });
  };
  /** The codes that came of it: of rejections, or of warnings. */
  const codes = async (name: string, asked: string) => {
    const answer = await post(name, asked);
    const found = answer.ok ? answer.value.warnings : answer.rejections;
    return [answer.ok, ...found.map(({ code }) => code)];
  };

  it('is found, or is refused until it is pushed', async () => {
    expect(await codes('web', image)).to.deep.equal([true]);
    expect(await codes('next', `${registry.address}/mooring/demo:2`)).to.deep.equal([false, 'image_not_found']);
    expect(await codes('none', `${registry.address}/mooring/none:1`)).to.deep.equal([false, 'image_not_found']);
    await demoImage(registry.address, { tag: '3' });
    expect(await codes('next', `${registry.address}/mooring/demo:3`)).to.deep.equal([true]);
  });

  it('is believed in while its registry is away, with a warning', async () => {
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
      expect(guess, place).to.deep.equal([true, 'image_registry_unreachable']);
    }
  });
});
