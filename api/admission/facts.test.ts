import { expect } from 'chai';

import type { ImageFact } from '../../pkg/registry/index.js';
import { ApiLab, webDeployment } from '../api-lab.testing.js';

describe('the image check of a deployment', () => {
  const known = new Map<string, ImageFact>();
  const asked: string[][] = [];
  const images = {
    imageFact: (tenant: string, image: string) => {
      asked.push([tenant, image]);
      return Promise.resolve(known.get(image) ?? 'present');
    },
  };
  let lab: ApiLab;
  let token: string;

  before(async () => {
    lab = await new ApiLab({ images }).start();
    token = await lab.tenantToken(lab.a);
    known.set('registry.example.com/gone:1', 'absent');
    known.set('registry.example.com/silent:1', 'unreachable');
    known.set('registry.example.com/locked:1', 'credential_store_unavailable');
  });
  after(() => lab.stop());
  beforeEach(() => {
    asked.length = 0;
  });

  const post = (name: string, more: Readonly<Record<string, unknown>>) =>
    lab.ask('POST', '/api/v1/deployments', { token, body: webDeployment(name, more) });
  const put = (name: string, body: unknown) => lab.ask('PUT', `/api/v1/deployments/${name}`, { token, body });
  const stored = async (name: string) => (await lab.ask('GET', `/api/v1/deployments/${name}`, { token })).body['image'];

  const refusals = [
    { image: 'registry.example.com/gone:1', code: 'image_not_found', status: 422 }, // [2.2.12]
    { image: 'registry.example.com/locked:1', code: 'registry_credential_store_unavailable', status: 503 },
  ] as const;
  for (const { image, code, status } of refusals) {
    it(`refuses a new deployment with ${code}, and stores nothing`, async () => {
      const refused = await post('refused', { image });
      expect([refused.status, refused.body['code'], refused.body['field']]).to.deep.equal([status, code, 'image']);
      expect(await stored('refused')).to.equal(undefined);
    });

    it(`refuses a change with ${code}, and changes nothing`, async () => {
      await post(`kept-${status}`, {});
      const refused = await put(`kept-${status}`, { image });
      expect([refused.status, refused.body['code'], refused.body['field']]).to.deep.equal([status, code, 'image']);
      expect(await stored(`kept-${status}`)).to.equal('registry.example.com/shop/web:1.4.2');
    });

    it(`names ${code} beside all other rejections`, async () => {
      const refused = await post('refused', { image, replicas: -1 });
      const codes = (refused.body['rejections'] as { code: string }[]).map(rejection => rejection.code);
      expect(codes).to.deep.equal([code, 'replicas_negative']);
    });
  }

  it('[7.1.12] names the time to retry after', async () => {
    const refused = await post('refused', { image: 'registry.example.com/locked:1' });
    expect(Number(refused.headers.get('retry-after'))).to.be.above(0);
  });

  it('[7.1.10] accepts an image whose registry is unreachable, with a warning', async () => {
    const created = await post('unknown', { image: 'registry.example.com/silent:1' });
    const warnings = created.body['warnings'] as { code: string; field: string }[];
    expect(created.status).to.equal(201);
    expect(warnings.map(({ code, field }) => [code, field])).to.deep.equal([['image_registry_unreachable', 'image']]);
  });

  it('queries the registry once, as the tenant', async () => {
    const created = await post('asked', { image: 'registry.example.com/asked:1' });
    expect(created.body['warnings']).to.deep.equal([]);
    expect(asked).to.deep.equal([[lab.a, 'registry.example.com/asked:1']]);
  });

  it('does not query the registry for an unchanged image', async () => {
    const image = 'registry.example.com/stays:1';
    await post('stays', { image });
    known.set(image, 'absent');
    asked.length = 0;
    expect((await put('stays', { replicas: 3 })).status).to.equal(200);
    expect((await put('stays', { image, replicas: 4 })).status).to.equal(200);
    expect(asked).to.deep.equal([]);
  });

  for (const image of ['web:latest', 'web', 'no image', 7, null, ['web:1'], 'x'.repeat(10_000)]) {
    it(`does not query the registry for ${JSON.stringify(image).slice(0, 20)}`, async () => {
      const refused = await post('refused', { image });
      expect(refused.body['code']).to.equal('image_required');
      expect(asked).to.deep.equal([]);
    });
  }
});
