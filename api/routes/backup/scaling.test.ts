import { expect } from 'chai';

import { keys } from '../../../crds/keys/index.js';
import type { Backup } from '../../../crds/backup/index.js';
import type { StoredDeployment } from '../../../crds/deployment/index.js';
import { putFormerDeployment } from '../../../pkg/history/index.js';
import { value } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

describe('backups of deployments with a scaling policy', () => {
  let lab: ApiLab;
  let token: string;
  before(async () => {
    lab = await new ApiLab().start();
    token = await lab.tenantToken(lab.a, 'deployer');
  });
  after(() => lab.stop());

  const ask = (method: string, path: string, body?: unknown) =>
    lab.ask(method, `/api/v1/${path}`, { token, ...(body !== undefined && { body }) });
  const accept = async (method: string, path: string, body?: unknown) => {
    const answer = await ask(method, path, body);
    expect(answer.status, answer.text).to.be.below(300);
    await lab.cache.barrier();
    return answer.body;
  };
  const backUp = async () => (await accept('POST', 'backups', { deploymentName: 'scaled' })) as unknown as Backup;
  const metadata = (body: Record<string, unknown>) => body['metadata'] as StoredDeployment['metadata'];

  it('[2.8.12] hold the scaling policy, and bring it back, change it back or take it away again', async () => {
    const path = 'deployments/scaled/scaling';
    await accept('POST', 'deployments', { ...webDeployment('scaled'), resources: { cpu: '100m' } });
    const without = await backUp();
    const policy = { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 60, stabilization: '1m' };
    await accept('PUT', path, policy);
    const backup = await backUp();
    expect([without.scalingPolicy, backup.scalingPolicy]).to.deep.equal([null, policy]);

    await accept('PUT', path, { ...policy, maxReplicas: 9 });
    const restore = `backups/${backup.id}/restore`;
    const tried = await accept('POST', `${restore}?dryRun=true`);
    const diff = [{ op: 'replace', path: '/scalingPolicy/maxReplicas', value: 4 }];
    expect(tried).to.deep.include({ dryRun: true, change: 'update', diff });
    await accept('POST', restore);
    expect(await accept('POST', `${restore}?dryRun=true`)).to.include({ change: 'none' });
    expect(await accept('GET', path)).to.include(policy);
    const again = await accept('POST', `backups/${backup.id}/restore`);
    expect(metadata(again).generation, 'nothing differs').to.equal(2);
    await accept('POST', `backups/${without.id}/restore`);
    expect((await ask('GET', path)).status).to.equal(404);

    await accept('DELETE', 'deployments/scaled');
    const entry = lab.cache.get(keys.deployment(lab.a, 'scaled'))!;
    const former = putFormerDeployment(lab.cache, value<StoredDeployment>(entry));
    const guards = [{ key: entry.key, at: entry.revision }];
    await lab.store.commit({ guards, puts: [former], deletes: [entry.key] });
    await lab.cache.barrier();
    const restored = await accept('POST', `backups/${backup.id}/restore`);
    const shown = await accept('GET', path);
    expect(shown).to.include(policy);
    expect(metadata(shown).uid).to.equal(metadata(restored).uid);
  });

  it('are refused with the code of the policy when it cannot be imported', async () => {
    const {
      metadata: _,
      alterations: __,
      warnings: ___,
      ...file
    } = (await backUp()) as unknown as Record<string, unknown>;
    const answer = await ask('POST', 'backups/import', { ...file, scalingPolicy: { minReplicas: 0 } });
    const [first] = answer.body['rejections'] as readonly { code: string; field: string }[];
    expect([answer.status, first?.code, first?.field]).to.deep.equal([
      422,
      'field_invalid',
      'scalingPolicy.minReplicas',
    ]);
  });
});
