import { generateKeyPairSync, sign } from 'node:crypto';

import { expect } from 'chai';

import { ApiLab, webDeployment } from '../../api/api-lab.testing.js';
import { until } from '../../dev/testing/index.js';
import { formatAgentRun, formatEnrolmentText, HttpLink } from '../../pkg/link/index.js';

const BEAT = { labels: {}, capacity: { cpu: 1, memory: 1, disk: 1 }, agentVersion: 'test' };
const SEATS = 40;

describe('a server that is sent five times what it can carry', () => {
  let lab: ApiLab;
  let link: HttpLink;
  beforeEach(async () => {
    lab = await new ApiLab({ settings: { requestsPerServer: SEATS, rateLimitPerSecond: 100_000 } }).start();
    link = new HttpLink({ server: lab.server.url });
    await join('machine-1');
  });
  afterEach(async () => {
    await link.close();
    await lab.stop();
  });

  const join = async (nodeName: string) => {
    const keys = generateKeyPairSync('ed25519');
    const publicKey = keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    const proof = sign(null, Buffer.from(formatEnrolmentText(nodeName, publicKey)), keys.privateKey).toString('base64');
    const token = (await lab.token({ kind: 'join', tenant: lab.a })).text;
    const { token: nodeToken } = await link.enrol({ nodeName, ...BEAT, publicKey, proof }, token);
    const signText = (text: string) => sign(null, Buffer.from(text), keys.privateKey).toString('base64');
    let last = 0;
    const now = () => (last = Math.max(Date.now(), last + 1));
    link.present({ token: nodeToken, sign: signText, now, agent: formatAgentRun({ id: 'f'.repeat(16), ended: [] }) });
    await link.heartbeat(BEAT);
  };
  const taken = async (kind: string) => {
    const { text } = await lab.ask('GET', '/metrics');
    return Number(new RegExp(`^mooring_seats_taken\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  };
  /** From here on the store commits nothing, until what this gives is called. */
  const holdCommits = () => {
    const waiting: (() => void)[] = [];
    const commit = lab.store.commit.bind(lab.store);
    lab.store.commit = change => new Promise<void>(go => waiting.push(go)).then(() => commit(change));
    return {
      waiting,
      release: () => {
        lab.store.commit = commit;
        for (const go of waiting) go();
      },
    };
  };

  it('refuses what is too much at once, keeps every heartbeat, and carries on afterwards', async () => {
    const tokens = await Promise.all([lab.a, lab.b].map(tenant => lab.tenantToken(tenant)));
    const held = holdCommits();
    const create = (n: number) =>
      lab.ask('POST', '/api/v1/deployments', { token: tokens[n % 2]!, body: webDeployment(`web-${n}`) });
    const begun = Array.from({ length: SEATS }, (_, n) => create(n));
    await until('the seats to be taken', async () => (await taken('requests')) === SEATS);

    const refused = await Promise.all(Array.from({ length: 4 * SEATS }, (_, n) => create(SEATS + n)));
    expect(new Set(refused.map(({ body }) => body['code']))).to.deep.equal(new Set(['server_overloaded']));
    expect(new Set(refused.map(({ status }) => status))).to.deep.equal(new Set([503]));
    expect(refused.every(({ headers }) => headers.has('retry-after'))).to.equal(true);
    expect(held.waiting.length).to.be.at.most(SEATS);
    for (let beat = 0; beat < 20; beat++) expect(await link.heartbeat(BEAT)).to.have.property('failedAfterMs');
    expect(await taken('requests')).to.equal(SEATS);
    expect(await taken('agents')).to.equal(0);

    held.release();
    expect(new Set((await Promise.all(begun)).map(({ status }) => status))).to.deep.equal(new Set([201]));
    await until('the seats to be free', async () => (await taken('requests')) === 0);
    expect((await create(0)).body['code']).to.equal('deployment_already_exists');
    expect((await create(SEATS)).status).to.equal(201);
  });
});
