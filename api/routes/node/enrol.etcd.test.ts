import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { keys, ranges } from '../../../crds/keys/index.js';
import type { NodeNameRecord } from '../../../crds/node/index.js';
import { formatEnrolmentText } from '../../../pkg/link/index.js';
import { EtcdProcess } from '../../../dev/processes/index.js';
import { EtcdStore, value } from '../../../pkg/store/index.js';
import { ApiLab } from '../../api-lab.testing.js';

const MACHINES = 50;

function enrolment(): object {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const text = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const proof = sign(null, Buffer.from(formatEnrolmentText('machine-1', text)), privateKey).toString('base64');
  const capacity = { cpu: 1000, memory: 2 ** 30, disk: 0 };
  return { nodeName: 'machine-1', labels: {}, capacity, publicKey: text, agentVersion: '0.1.0', proof };
}

describe('many machines that enrol under one name at once, on a real etcd', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let lab: ApiLab;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'mooring-race-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'data') });
    lab = await new ApiLab({ store: new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' }) }).start();
  });
  after(async () => {
    await lab?.stop();
    await lab?.store.close();
    await etcd?.kill();
    rmSync(folder, { recursive: true });
  });

  it('[5.7] have exactly one owner, round after round of releases', async () => {
    const admins = await Promise.all([lab.a, lab.b].map(tenant => lab.tenantToken(tenant)));
    for (let round = 0; round < 3; round++) {
      const joins = await Promise.all(
        Array.from({ length: MACHINES }, async (_, n) => {
          const { body } = await lab.ask('POST', '/api/v1/nodes/join-tokens', { token: admins[n % 2]!, body: {} });
          return body['token'] as string;
        }),
      );
      const answers = await Promise.all(
        joins.map(token => lab.ask('POST', '/api/v1/nodes', { token, body: enrolment() })),
      );
      const made = answers.filter(({ status }) => status === 201);
      const codes = new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => body['code']));
      const owner = value<NodeNameRecord>((await lab.store.get(keys.nodeName('machine-1')))!).claims;

      expect(made).to.have.length(1);
      expect([...codes]).to.have.members(['node_key_mismatch', 'node_owned_by_another_tenant']);
      expect((await lab.store.list(ranges.nodes)).entries).to.have.length(1);
      expect(made[0]!.body['node']).to.include({ tenant: owner[0]!.tenant });
      const winner = owner[0]!.tenant === lab.a ? admins[0]! : admins[1]!;
      const headers = { 'X-Tenant-ID': owner[0]!.tenant };
      const released = await Promise.all(
        Array.from({ length: 5 }, () => lab.ask('DELETE', '/api/v1/nodes/machine-1/claim', { token: winner, headers })),
      );
      expect(released.filter(({ status }) => status === 200)).to.have.length(1);
      expect(released.filter(({ status }) => status === 404)).to.have.length(4);
      expect((await lab.store.list(ranges.nodes)).entries).to.have.length(0);
    }
  });
});
