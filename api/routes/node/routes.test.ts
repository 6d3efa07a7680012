import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

import { expect } from 'chai';

import { until } from '../../../dev/testing/index.js';
import { keys } from '../../../crds/keys/index.js';
import type { Replica } from '../../../crds/replica/index.js';
import { systemClock } from '../../../pkg/clock/index.js';
import { type EnrolReply, formatEnrolmentText, formatRenewalText, HttpLink } from '../../../pkg/link/index.js';
import { create } from '../../../pkg/store/index.js';
import { ApiLab, webDeployment } from '../../api-lab.testing.js';

interface Key {
  readonly publicKey: string;
  readonly privateKey: KeyObject;
}

function newKey(): Key {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return { publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'), privateKey };
}

const signed = ({ privateKey }: Key, text: string) => sign(null, Buffer.from(text), privateKey).toString('base64');
const capacity = { cpu: 4000, memory: 8 * 2 ** 30, disk: 100 * 2 ** 30 };

describe('nodes', () => {
  let lab: ApiLab;
  let admin: string;
  let now = Date.now();
  let isDialAwaited = true;
  beforeEach(async () => {
    isDialAwaited = true;
    const after = (ms: number, fire: () => void) => systemClock.after(ms === 12_000 && !isDialAwaited ? 0 : ms, fire);
    lab = await new ApiLab({ clock: { ...systemClock, now: () => now, after } }).start();
    admin = await lab.tenantToken(lab.a);
  });
  afterEach(() => lab.stop());

  const joinToken = async (body: object = {}, token = admin) =>
    (await lab.ask('POST', '/api/v1/nodes/join-tokens', { token, body })).body['token'] as string;
  const enrolment = (key: Key, nodeName = 'machine-1', more: object = {}) => ({
    nodeName,
    labels: { 'mooring.io/country': 'DE' },
    capacity,
    publicKey: key.publicKey,
    agentVersion: '0.1.0',
    proof: signed(key, formatEnrolmentText(nodeName, key.publicKey)),
    ...more,
  });
  const enrol = (token: string, body: object) => lab.ask('POST', '/api/v1/nodes', { token, body });
  const enrolled = async (nodeName = 'machine-1', key = newKey()) => {
    const reply = (await enrol(await joinToken(), enrolment(key, nodeName))).body as unknown as EnrolReply;
    lab.nodeKeys.set(reply.token, key.privateKey);
    return reply;
  };

  it('[2.8.1 4.25] join with a token of their tenant, and are shown with their free capacity', async () => {
    const { node } = await enrolled();
    const { body } = await lab.ask('GET', `/api/v1/nodes/${node.id}`, { token: admin });
    const byName = await lab.ask('GET', '/api/v1/nodes/machine-1', { token: admin });

    expect(body).to.deep.include({
      id: node.id,
      name: 'machine-1',
      tenant: lab.a,
      status: 'joining',
      capacity,
      free: capacity,
    });
    expect(body['schedulable']).to.deep.equal({ value: false, reason: 'joining' });
    expect(body['claims']).to.have.length(1);
    expect(body).to.not.have.property('publicKey');
    expect(byName.body).to.deep.equal(body);
    expect((await lab.ask('GET', '/api/v1/nodes', { token: admin })).body['items']).to.deep.equal([body]);
  });

  it('of the control plane join with a token of the platform only', async () => {
    const key = newKey();
    const body = enrolment(key, 'machine-1', { controlPlane: true });
    const before = await lab.store.list('nodes/');
    const refused = await enrol(await joinToken(), body);
    expect([refused.status, refused.body['code'], refused.body['field']]).to.deep.equal([
      403,
      'auth_forbidden',
      'controlPlane',
    ]);
    expect((await lab.store.list('nodes/')).entries).to.deep.equal(before.entries);

    const platform = (await lab.token({ kind: 'admin' })).text;
    const headers = { 'x-tenant-id': lab.a };
    const join = await lab.ask('POST', '/api/v1/nodes/join-tokens', { token: platform, body: {}, headers });
    expect((await enrol(join.body['token'] as string, body)).status).to.equal(201);
    const { body: shown } = await lab.ask('GET', '/api/v1/nodes/machine-1', { token: admin });
    expect(shown['controlPlane']).to.equal(true);
  });

  it('record one event when they enrol', async () => {
    await enrolled();
    const { body } = await lab.ask('GET', '/api/v1/events?type=node.enrolled', { token: admin });

    expect(body['items']).to.have.length(1);
  });

  it('may repeat their enrolment after a lost answer, with the same key only', async () => {
    const [key, join] = [newKey(), await joinToken()];
    const first = await enrol(join, enrolment(key));
    const again = await enrol(join, enrolment(key));
    const thief = await enrol(join, enrolment(newKey()));
    const second = await enrol(join, enrolment(key, 'another-name'));

    expect([first.status, again.status]).to.deep.equal([201, 200]);
    expect([second.status, second.body['code']]).to.deep.equal([409, 'join_token_used']);
    expect(again.body['node']).to.deep.equal(first.body['node']);
    expect(again.body['token']).to.not.equal(first.body['token']);
    expect([thief.status, thief.body['code']]).to.deep.equal([409, 'join_token_used']);
  });

  it('[2.7.10] record an event when their labels change, by heartbeat or by another enrolment', async () => {
    const [key, join] = [newKey(), await joinToken()];
    await enrol(join, enrolment(key));
    await enrol(join, enrolment(key));
    await enrol(join, enrolment(key, 'machine-1', { labels: { 'mooring.io/country': 'FR' } }));
    const { body } = await lab.ask('GET', '/api/v1/events?type=node.labels_changed', { token: admin });

    expect((body['items'] as { data: unknown }[]).map(({ data }) => data)).to.deep.equal([
      { from: { 'mooring.io/country': 'DE' }, to: { 'mooring.io/country': 'FR' } },
    ]);
  });

  const refusals: readonly {
    name: string;
    body: (key: Key) => object;
    join?: object;
    status: number;
    code: string;
  }[] = [
    {
      name: 'a proof of another key',
      body: key => enrolment(key, 'x', { proof: signed(newKey(), formatEnrolmentText('x', key.publicKey)) }),
      status: 403,
      code: 'node_proof_invalid',
    },
    {
      name: 'a proof of another name',
      body: key => ({ ...enrolment(key, 'other'), nodeName: 'x' }),
      status: 403,
      code: 'node_proof_invalid',
    },
    {
      name: 'another name than the token allows',
      join: { nodeName: 'y' },
      body: key => enrolment(key, 'x'),
      status: 403,
      code: 'join_token_bound_to_other_name',
    },
    {
      name: 'a reserved label',
      body: key => enrolment(key, 'x', { labels: { 'mooring.io/tenant': 'b' } }),
      status: 422,
      code: 'node_label_reserved',
    },
    { name: 'a name that is none', body: key => enrolment(key, '../x'), status: 422, code: 'field_invalid' },
    { name: 'an unknown field', body: key => enrolment(key, 'x', { tenant: 'b' }), status: 422, code: 'field_unknown' },
  ];
  for (const { name, body, join, status, code } of refusals) {
    it(`are refused with ${name}, and nothing is stored`, async () => {
      const token = await joinToken(join);
      const before = await lab.store.revision();
      const answer = await enrol(token, body(newKey()));

      expect([answer.status, answer.body['code']]).to.deep.equal([status, code]);
      expect(await lab.store.revision()).to.equal(before);
    });
  }

  it('[2.8.3 7.4.5] cannot take a name from another tenant, nor from another machine', async () => {
    await enrolled();
    const [theirs, ours] = [await joinToken({}, await lab.tenantToken(lab.b)), await joinToken()];
    const before = await lab.store.revision();
    const taken = await enrol(theirs, enrolment(newKey()));

    expect(taken.body).to.include({ code: 'node_owned_by_another_tenant', field: 'nodeName' });
    expect((await enrol(ours, enrolment(newKey()))).body['code']).to.equal('node_key_mismatch');
    expect(await lab.store.revision()).to.equal(before);
  });

  it('[2.8.3 5.7] have one owner when two enrol under one name at the same time', async () => {
    const b = await lab.tenantToken(lab.b);
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, n) => joinToken({}, n % 2 === 0 ? admin : b)));
    const answers = await Promise.all(tokens.map(token => enrol(token, enrolment(newKey()))));

    expect(answers.filter(({ status }) => status === 201)).to.have.length(1);
    expect(answers.filter(({ status }) => status === 409)).to.have.length(49);
  });

  it('are hidden from other tenants: the answer is that of a node that does not exist', async () => {
    const { node } = await enrolled();
    const token = await lab.tenantToken(lab.b);
    for (const id of [node.id, 'machine-1', 'machine-2', `node_${'0'.repeat(26)}`]) {
      const { status, body } = await lab.ask('GET', `/api/v1/nodes/${id}`, { token });

      expect([status, body['code'], body['received']]).to.deep.equal([404, 'resource_not_found', id]);
    }
  });

  it('get a new token for a signature by their key, even after their token has expired', async () => {
    const key = newKey();
    const { node } = await enrolled('machine-1', key);
    now += 25 * 3_600_000;
    const renew = (body: object) => lab.ask('POST', '/agent/v1/token', { body });
    const good = await renew({ nodeId: node.id, at: now, proof: signed(key, formatRenewalText(node.id, now)) });
    const other = await renew({ nodeId: node.id, at: now, proof: signed(newKey(), formatRenewalText(node.id, now)) });
    const late = now - 121_000;
    const stale = await renew({ nodeId: node.id, at: late, proof: signed(key, formatRenewalText(node.id, late)) });
    const nobody = `node_${'0'.repeat(26)}`;
    const unknown = await renew({ nodeId: nobody, at: now, proof: signed(key, formatRenewalText(nobody, now)) });

    expect(good.status).to.equal(200);
    expect([other.body['code'], unknown.body['code']]).to.deep.equal(['node_proof_invalid', 'node_proof_invalid']);
    expect(stale.body['code']).to.equal('renewal_time_skewed');
    const token = good.body['token'] as string;
    lab.nodeKeys.set(token, key.privateKey);
    const beat = { labels: {}, capacity, agentVersion: '0.1.0' };
    expect((await lab.ask('POST', '/agent/v1/heartbeat', { token, body: beat })).status).to.equal(200);
  });

  it('[2.8.1] update labels and capacity with a heartbeat, and no other field', async () => {
    const { token, node } = await enrolled();
    const labels = { disk: 'ssd', 'mooring.io/tenant': 'x' };
    const beat = { labels, capacity: { ...capacity, cpu: 10 ** 12 }, agentVersion: '0.2.0' };
    const answer = await lab.ask('POST', '/agent/v1/heartbeat', { token, body: beat });
    const { body } = await lab.ask('GET', `/api/v1/nodes/${node.id}`, { token: admin });

    expect(answer.body['failedAfterMs']).to.equal(30_000);
    expect((answer.body['alterations'] as unknown[]).length).to.equal(2);
    expect(body['labels']).to.deep.equal({ disk: 'ssd' });
    expect(body['agent']).to.deep.equal({ version: '0.2.0', lastHeartbeatAt: new Date(now).toISOString() });
    expect(await lab.store.get(keys.alive(lab.a, 'machine-1'))).to.not.equal(undefined);
  });

  const place = async (nodeId: string, slot = 0): Promise<Replica> => {
    const made = await lab.ask('POST', '/api/v1/deployments', { token: admin, body: webDeployment(`web${slot}`) });
    const replica: Replica = {
      uid: `rep_${slot}`,
      tenant: lab.a,
      deployment: `web${slot}`,
      deploymentUid: (made.body['metadata'] as { uid: string }).uid,
      slot,
      generation: 1,
      templateHash: 'h',
      template: { image: 'a:1', secretsVersion: 0, resources: { cpu: '500m', memory: '1Gi' } },
      nodeId,
      createdAt: new Date(0).toISOString(),
    };
    await create(lab.store, keys.replica(lab.a, `web${slot}`, slot), replica);
    return replica;
  };
  const openLink = ({ token }: EnrolReply) => {
    const link = new HttpLink({ server: lab.server.url });
    link.present(lab.credentials(token));
    return link;
  };

  it('[5.7] receive their own assignments and no others', async () => {
    const [one, two] = [await enrolled('machine-1'), await enrolled('machine-2')];
    const link = openLink(one);
    const lines: { type: string }[] = [];
    const stop = new AbortController();
    const open = link.assignments(line => lines.push(line), stop.signal);
    await until('lines of the stream', () => lines.length === 1);
    await place(two.node.id, 1);
    await place(one.node.id, 0);
    await until('lines of the stream', () => lines.length === 2);
    stop.abort();
    await open;
    await link.close();

    expect(lines.map(({ type }) => type)).to.deep.equal(['snapshot', 'set']);
    expect(lines[1]).to.have.nested.property('replica.uid', 'rep_0');
    const { body } = await lab.ask('GET', '/api/v1/nodes/machine-1', { token: admin });
    expect(body['free']).to.include({ cpu: 3500, memory: 7 * 2 ** 30 });
  });

  it('report their own replicas; one of another node is answered like one that does not exist', async () => {
    const [one, two] = [await enrolled('machine-1'), await enrolled('machine-2')];
    const [mine, theirs] = [await place(one.node.id, 0), await place(two.node.id, 1)];
    const report = ({ uid, deployment, slot }: Replica) => ({
      replica: uid,
      deployment,
      slot,
      nodeId: one.node.id,
      templateHash: 'h',
      state: 'running',
      health: 'none',
      restarts: 0,
      at: new Date(0).toISOString(),
    });
    const send = (reports: object[]) => lab.ask('POST', '/agent/v1/reports', { token: one.token, body: { reports } });
    const absent = await send([{ ...report(theirs), replica: 'rep_9' }]);
    const foreign = await send([report(theirs)]);
    const inName = await send([report(mine), { ...report(mine), nodeId: two.node.id }]);
    const key = keys.report(lab.a, one.node.id, mine.uid);

    expect([foreign.status, foreign.text]).to.deep.equal([absent.status, absent.text]);
    expect(await lab.store.get(keys.report(lab.a, one.node.id, theirs.uid))).to.equal(undefined);
    expect([inName.status, inName.body['code']]).to.deep.equal([403, 'report_not_own']);
    expect(await lab.store.get(key)).to.equal(undefined);
    expect((await send([report(mine), report(theirs)])).status).to.equal(200);
    expect(await lab.store.get(key)).to.not.equal(undefined);
  });

  /** Sends a heartbeat. */
  const beat = ({ token }: EnrolReply) =>
    lab.ask('POST', '/agent/v1/heartbeat', { token, body: { labels: {}, capacity, agentVersion: '0.1.0' } });

  it('stream the logs of a replica to the caller that requested them, and to no other', async () => {
    const [one, two] = [await enrolled('machine-1'), await enrolled('machine-2')];
    await beat(one);
    await place(one.node.id, 0);
    const link = openLink(one);
    const stop = new AbortController();
    const impostor: number[] = [];
    const serving = link.assignments(line => {
      if (line.type !== 'logs') return;
      void lab
        .ask('POST', `/agent/v1/logs/${line.request.id}`, { token: two.token, raw: '{}\n' })
        .then(({ status }) => impostor.push(status))
        .then(() =>
          link.sendLogs(
            line.request,
            (async function* () {
              yield { stream: 'stdout', text: 'one\n' } as const;
              yield { stream: 'stderr', text: 'two\n' } as const;
              yield { stream: 'stdout', text: '', end: 'complete' } as const;
            })(),
            stop.signal,
          ),
        );
    }, stop.signal);
    const logs = await lab.ask('GET', '/api/v1/deployments/web0/logs?tail=10', { token: admin });
    stop.abort();
    await serving;
    await link.close();

    expect([logs.status, logs.text]).to.deep.equal([200, 'one\ntwo\n']);
    expect(logs.headers.get('content-type')).to.include('text/plain');
    expect(impostor).to.deep.equal([404]);
    await until('no log request to be left', () => lab.cache.list('log-requests/').length === 0);
  });

  it('answer logs_unavailable when the agent does not deliver the logs', async () => {
    const machine = await enrolled();
    await place(machine.node.id, 0);
    const read = async () => {
      const { status, body } = await lab.ask('GET', '/api/v1/deployments/web0/logs', { token: admin });
      return [status, body['code']];
    };
    expect(await read(), 'before its first heartbeat').to.deep.equal([503, 'logs_node_silent']);
    await beat(machine);
    isDialAwaited = false; // nobody dials in
    expect(await read()).to.deep.equal([503, 'logs_unavailable']);
  });

  it('are asked in vain for the log of a container that none of them has removed', async () => {
    const machine = await enrolled();
    await beat(machine);
    await place(machine.node.id, 0);
    const { status, body } = await lab.ask('GET', '/api/v1/deployments/web0/logs?previous=true', { token: admin });
    expect([status, body['code']]).to.deep.equal([404, 'logs_not_kept']);
    await until('no log request to be left', () => lab.cache.list('log-requests/').length === 0);
  });

  it('decline a log stream when they serve too many, and only for their own replicas', async () => {
    const [one, two] = [await enrolled('machine-1'), await enrolled('machine-2')];
    await beat(one);
    await place(one.node.id, 0);
    const [link, stranger] = [openLink(one), openLink(two)];
    const stop = new AbortController();
    let impostor: unknown;
    const serving = link.assignments(line => {
      if (line.type !== 'logs') return;
      void stranger
        .declineLogs(line.request)
        .catch((thrown: unknown) => (impostor = thrown))
        .then(() => link.declineLogs(line.request));
    }, stop.signal);
    const { status, body, headers } = await lab.ask('GET', '/api/v1/deployments/web0/logs', { token: admin });
    stop.abort();
    await serving;
    await Promise.all([link.close(), stranger.close()]);

    expect([status, body['code']]).to.deep.equal([503, 'logs_too_many']);
    expect(headers.get('retry-after')).to.equal('5');
    expect(impostor).to.include({ status: 404 });
  });

  it('answer no logs of a deployment without a replica on them', async () => {
    await lab.ask('POST', '/api/v1/deployments', { token: admin, body: webDeployment('unplaced') });
    const { status, body } = await lab.ask('GET', '/api/v1/deployments/unplaced/logs', { token: admin });
    expect([status, body['code'], body['field']]).to.deep.equal([404, 'logs_not_kept', 'replica']);

    const { node } = await enrolled();
    await place(node.id, 0);
    const other = await lab.ask('GET', '/api/v1/deployments/web0/logs?replica=9', { token: admin });
    expect([other.status, other.body['code']]).to.deep.equal([404, 'resource_not_found']);
  });

  it('lose their streams and their token when they are removed', async () => {
    const one = await enrolled();
    const link = openLink(one);
    const broken = link
      .assignments(() => undefined, new AbortController().signal)
      .then(
        () => 'resolved',
        () => 'broken',
      );
    const tokens = await lab.ask('GET', '/api/v1/tokens', { token: admin });
    const node = (tokens.body['items'] as { id: string; kind: string }[]).find(({ kind }) => kind === 'node');
    await lab.ask('DELETE', `/api/v1/tokens/${node?.id}`, { token: admin });

    expect(await broken).to.equal('broken');
    await link.close();
  });
});
