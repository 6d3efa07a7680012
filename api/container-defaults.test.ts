import { expect } from 'chai';

import { loadSettings } from '../pkg/config/index.js';
import { ApiLab, webDeployment } from './api-lab.testing.js';

const { settings } = loadSettings({
  environment: {
    MOORING_DEFAULT_MEMORY_LIMIT: '64Mi',
    MOORING_DEFAULT_USER: '1000:1000',
    MOORING_DEFAULT_READ_ONLY_ROOT_FILESYSTEM: 'true',
  },
});

/** From the settings of the server to what is stored: each kind of workload. */
describe('a server with defaults for containers', () => {
  const { defaultMemoryLimit, defaultUser, defaultReadOnlyRootFilesystem } = settings;
  const lab = new ApiLab({ settings: { defaultMemoryLimit, defaultUser, defaultReadOnlyRootFilesystem } });
  let token: string;
  before(async () => {
    await lab.start();
    token = await lab.tenantToken(lab.a);
  });
  after(() => lab.stop());

  const job = { kind: 'Job', name: 'migrate', image: 'registry.example.com/shop/migrate:1.4.2' };
  for (const [path, body] of [
    ['/api/v1/deployments', webDeployment('web')],
    ['/api/v1/jobs', job],
  ] as const) {
    it(`stores and announces them: ${path}`, async () => {
      const created = await lab.ask('POST', path, { token, body });
      expect(created.status, created.text).to.equal(201);
      const alterations = created.body['alterations'] as readonly { readonly field: string; readonly why: string }[];
      expect(
        alterations.filter(({ why }) => why === 'default of the platform').map(({ field }) => field),
      ).to.deep.equal(['resources.limits.memory', 'user', 'readOnlyRootFilesystem']);
      await lab.cache.barrier();
      const shown = await lab.ask('GET', `${path}/${String(body['name'])}`, { token });
      expect(shown.body).to.deep.include({
        resources: { limits: { memory: '64Mi' } },
        user: '1000:1000',
        readOnlyRootFilesystem: true,
      });
    });

    it(`leaves alone what is said: ${path}`, async () => {
      const own = { ...body, name: 'own', user: '0', readOnlyRootFilesystem: false };
      const { body: created } = await lab.ask('POST', path, { token, body: own });
      expect(created).to.include({ user: '0', readOnlyRootFilesystem: false });
    });
  }
});
