import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { ApiLab, exportPublicKey } from '../../api/api-lab.testing.js';
import { keys } from '../../crds/keys/index.js';
import type { NodePresence } from '../../crds/node/index.js';
import { EtcdProcess } from '../../dev/processes/index.js';
import { systemClock } from '../../pkg/clock/index.js';
import { type EnrolReply, formatEnrolmentText, formatRenewalText, signRequest } from '../../pkg/link/index.js';
import { encode, EtcdStore, value } from '../../pkg/store/index.js';

const capacity = { cpu: 4000, memory: 8 * 2 ** 30, disk: 100 * 2 ** 30 };
const beat = { labels: {}, capacity, agentVersion: '0.1.0' };
const HEARTBEAT = '/agent/v1/heartbeat';

const newKey = () => generateKeyPairSync('ed25519').privateKey;
const signText = (key: KeyObject, text: string) => sign(null, Buffer.from(text), key).toString('base64');

describe('the identity of a node', () => {
  let folder: string;
  let etcd: EtcdProcess;
  let store: EtcdStore;
  let lab: ApiLab;
  let admin: string;
  let machines = 0;
  let skippedMs = 0;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-identity-'));
    etcd = await EtcdProcess.start({ dataDir: join(folder, 'etcd') });
    store = new EtcdStore({ endpoints: [etcd.endpoint], prefix: '/mooring/' });
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs };
    lab = await new ApiLab({ store, clock }).start();
    admin = await lab.tenantToken(lab.a);
  });
  /** What failed requests of the tests before have used up is refilled. */
  beforeEach(() => {
    skippedMs += 600_000;
  });
  after(async () => {
    await lab.stop();
    await store.close();
    await etcd.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  const joinToken = async (body: object = {}, token = admin) =>
    (await lab.ask('POST', '/api/v1/nodes/join-tokens', { token, body })).body['token'] as string;
  const enrol = async (nodeName: string, key: KeyObject, token: string) => {
    const publicKey = exportPublicKey(key);
    const proof = signText(key, formatEnrolmentText(nodeName, publicKey));
    const answer = await lab.ask('POST', '/api/v1/nodes', { token, body: { ...beat, nodeName, publicKey, proof } });
    const reply = answer.body as unknown as EnrolReply;
    if (answer.status < 300) lab.nodeKeys.set(reply.token, key);
    return { ...answer, reply };
  };
  const enrolled = async (key = newKey(), nodeName = `machine-${++machines}`) => {
    const { reply } = await enrol(nodeName, key, await joinToken());
    return { key, ...reply };
  };
  const renewAt = (nodeId: string, key: KeyObject, at: number) =>
    lab.ask('POST', '/agent/v1/token', { body: { nodeId, at, proof: signText(key, formatRenewalText(nodeId, at)) } });
  /** Sends a request exactly as given: nothing is signed. */
  const send = async (path: string, headers: Readonly<Record<string, string>>, body: unknown = beat) => {
    const response = await fetch(`${lab.server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return [response.status, ((await response.json()) as { code?: string }).code];
  };
  const proven = (token: string, body: unknown = beat, path = HEARTBEAT) =>
    signRequest(lab.credentials(token), { method: 'POST', path, body: JSON.stringify(body) });

  it('is not had with a stolen token: no request of an agent is served without a proof of the key', async () => {
    const { token } = await enrolled();
    const authorization = `Bearer ${token}`;
    for (const { method, path, access } of lab.api.routes) {
      if (access === 'open' || !access.node) continue;
      const url = `${lab.server.url}${path.replace(/\{[^}]*\}/, 'x')}`;
      const response = await fetch(url, { method, headers: { authorization } });

      expect([response.status, ((await response.json()) as { code: string }).code], path).to.deep.equal([
        401,
        'node_proof_required',
      ]);
    }
  });

  it('is proven for one request: method, path, body, token and key', async () => {
    const [one, two] = [await enrolled(), await enrolled()];
    const other = { ...beat, agentVersion: '6.6.6' };
    const thief = newKey();
    const stolen = signRequest(
      { ...lab.credentials(one.token), sign: text => signText(thief, text) },
      { method: 'POST', path: HEARTBEAT, body: JSON.stringify(beat) },
    );
    const renewed = (await renewAt(one.node.id, one.key, Date.now())).body['token'] as string;
    const declined = { method: 'DELETE', path: '/agent/v1/logs/log_1' };
    const cases: readonly [name: string, path: string, headers: Record<string, string>, body: unknown][] = [
      ['another key', HEARTBEAT, stolen, beat],
      ['another method', declined.path, signRequest(lab.credentials(one.token), declined), beat],
      ['another body', HEARTBEAT, proven(one.token), other],
      ['another path', '/agent/v1/reports', proven(one.token), beat],
      ['a token of another node', HEARTBEAT, { ...proven(one.token), authorization: `Bearer ${two.token}` }, beat],
      ['another token', HEARTBEAT, { ...proven(one.token), authorization: `Bearer ${renewed}` }, beat],
      ['no signature', HEARTBEAT, { ...proven(one.token), 'mooring-proof': `v1.${Date.now()}.-.AAAA` }, beat],
    ];
    for (const [name, path, headers, body] of cases) {
      expect(await send(path, headers, body), name).to.deep.equal([403, 'node_proof_invalid']);
    }
    expect(await send(HEARTBEAT, proven(one.token))).to.deep.equal([200, undefined]);
  });

  it('is had by one run of its agent: no request is served that does not say which run sends it', async () => {
    const { token } = await enrolled();
    expect(await send(HEARTBEAT, proven(token))).to.deep.equal([200, undefined]);
    for (const { method, path, access } of lab.api.routes) {
      if (access === 'open' || !access.node) continue;
      const url = path.replace(/\{[^}]*\}/, 'x');
      const body = method === 'POST' && !url.includes('/logs/') ? '{}' : undefined;
      const unnamed = { ...lab.credentials(token), agent: '' };
      const { 'mooring-agent': _, ...headers } = signRequest(unnamed, { method, path: url, body });
      const sent = { method, headers: { ...headers, 'content-type': 'application/json' }, ...(body && { body }) };
      const response = await fetch(lab.server.url + url, { ...sent, signal: AbortSignal.timeout(10_000) });
      const { code } = (await response.json()) as { code: string };
      expect([response.status, code], url).to.deep.equal([403, 'node_proof_invalid']);
    }
  });

  it('is proven once: a recorded request is refused when it is sent again, now or later', async () => {
    const { token } = await enrolled();
    const headers = proven(token);
    expect(await send(HEARTBEAT, headers)).to.deep.equal([200, undefined]);
    expect(await send(HEARTBEAT, headers)).to.deep.equal([403, 'node_proof_replayed']);

    for (const skewMs of [-31_000, 60_000]) {
      const skewed = { ...lab.credentials(token), now: () => Date.now() + skewMs };
      const other = signRequest(skewed, { method: 'POST', path: HEARTBEAT, body: JSON.stringify(beat) });
      expect(await send(HEARTBEAT, other), `${skewMs} ms`).to.deep.equal([403, 'node_proof_stale']);
    }
  });

  it('is renewed once by a signature: a replayed renewal is refused, and two tokens of a node are valid', async () => {
    const { key, node, token } = await enrolled();
    const at = Date.now();
    const first = await renewAt(node.id, key, at);
    const replayed = await Promise.all(Array.from({ length: 20 }, () => renewAt(node.id, key, at)));
    const earlier = await renewAt(node.id, key, at - 1);

    expect(first.status).to.equal(200);
    expect(new Set([...replayed, earlier].map(({ body }) => body['code']))).to.deep.equal(
      new Set(['renewal_replayed']),
    );
    const second = await renewAt(node.id, key, at + 1);
    for (const { body } of [first, second]) lab.nodeKeys.set(body['token'] as string, key);
    const statuses = [];
    for (const each of [token, first.body['token'], second.body['token']] as string[]) {
      statuses.push((await lab.ask('POST', HEARTBEAT, { token: each, body: beat })).status);
    }
    expect(statuses).to.deep.equal([401, 200, 200]);
  });

  it('is renewed although a server whose clock was ahead has stored the time of a renewal', async () => {
    const { key, node } = await enrolled();
    const [at, where] = [Date.now(), keys.node(lab.a, node.name)];
    const entry = (await store.get(where))!;
    const ahead = { ...(JSON.parse(entry.bytes.toString()) as object), renewedAt: at + 10 * 365 * 86_400_000 };
    const [guards, puts] = [[{ key: where, at: entry.revision }], [{ key: where, bytes: encode(ahead) }]];
    await store.commit({ guards, puts, deletes: [], proof: where });

    expect((await renewAt(node.id, key, at)).status).to.equal(200);
    expect((await renewAt(node.id, key, at)).body['code']).to.equal('renewal_replayed');
  });

  it('is renewed at a bounded rate, whoever signs', async () => {
    const { key, node } = await enrolled();
    const at = Date.now() - 60_000;
    const statuses = [];
    for (let count = 0; count < 10; count++) statuses.push((await renewAt(node.id, key, at + count)).status);
    const { entries } = await store.list('tokens/');
    const own = entries.filter(({ bytes }) => bytes.includes(node.id));

    expect(statuses.slice(0, 5)).to.deep.equal([200, 200, 200, 200, 200]);
    expect(statuses.at(-1)).to.equal(429);
    expect(own).to.have.length(2);
  });

  it('ends with the node: the token of a deleted node answers 401', async () => {
    const { token, node } = await enrolled();
    expect((await lab.ask('POST', HEARTBEAT, { token, body: beat })).status).to.equal(200);
    await lab.ask('DELETE', `/api/v1/nodes/${node.id}`, { token: admin });
    const answer = await lab.ask('POST', HEARTBEAT, { token, body: beat });
    const reports = await lab.ask('POST', '/agent/v1/reports', { token, body: { reports: [] } });

    expect([answer.status, answer.body['code'], reports.status]).to.deep.equal([401, 'auth_invalid', 401]);
    expect(await store.get(keys.alive(lab.a, node.name))).to.equal(undefined);
  });

  it('passes to another key only by a join token for that name, once, and while no agent has the node', async () => {
    const [lost, found, b] = [await enrolled(), newKey(), await lab.tenantToken(lab.b)];
    const { id, name } = lost.node;
    const codeOf = async (key: KeyObject, join: string) => (await enrol(name, key, join)).body['code'];
    await lab.ask('POST', HEARTBEAT, { token: lost.token, body: beat });
    const join = await joinToken({ nodeName: name });

    expect(await codeOf(found, join), 'while it sends heartbeats').to.equal('node_key_mismatch');
    const alive = (await store.get(keys.alive(lab.a, name)))!;
    await store.revoke(value<NodePresence>(alive).lease);
    expect(await codeOf(found, await joinToken()), 'by any join token').to.equal('node_key_mismatch');
    const foreign = await joinToken({ nodeName: name }, b);
    expect(await codeOf(found, foreign), 'by another tenant').to.equal('node_owned_by_another_tenant');

    const { status, reply } = await enrol(name, found, join);
    expect([status, reply.node]).to.deep.equal([200, lost.node]);
    const beats = [];
    for (const token of [lost.token, reply.token]) beats.push(await lab.ask('POST', HEARTBEAT, { token, body: beat }));
    expect(beats.map(each => each.status)).to.deep.equal([401, 200]);
    expect((await renewAt(id, lost.key, Date.now())).body['code']).to.equal('node_proof_invalid');
    const { body } = await lab.ask('GET', '/api/v1/events?type=node.key_replaced', { token: admin });
    expect((body['items'] as { subject: object }[]).map(({ subject }) => subject)).to.deep.equal([
      { kind: 'Node', name, id },
    ]);

    await store.revoke(value<NodePresence>((await store.get(keys.alive(lab.a, name)))!).lease);
    expect(await codeOf(lost.key, join), 'by a join token that was used').to.equal('join_token_used');
  });

  it('tells an agent which nodes its tenant has lost, and nothing about those of others', async () => {
    const b = await lab.tenantToken(lab.b);
    const [own, other, deleted] = [await enrolled(), await enrolled(), await enrolled()];
    const { reply: theirs } = await enrol(`machine-${++machines}`, newKey(), await joinToken({}, b));
    await lab.ask('DELETE', `/api/v1/nodes/${deleted.node.id}`, { token: admin });
    const ids = [other, deleted, theirs].map(({ node }) => node.id);
    const { status, body } = await lab.ask('POST', '/agent/v1/gone-nodes', { token: own.token, body: { ids } });
    const refused = await lab.ask('POST', '/agent/v1/gone-nodes', { token: own.token, body: { ids: ['../x'] } });

    expect([status, body]).to.deep.equal([200, { gone: [deleted.node.id, theirs.node.id] }]);
    expect([refused.status, refused.body['code']]).to.deep.equal([422, 'field_invalid']);
  });

  it('is not shared with those who claim the machine: neither sees the other, nor the labels of the old owner', async () => {
    const [b, platform] = [await lab.tenantToken(lab.b), (await lab.token({ kind: 'admin' })).text];
    const { key, node, token } = await enrolled();
    await lab.ask('POST', HEARTBEAT, { token, body: { ...beat, labels: { rack: 'secret-rack' } } });
    const claims = `/api/v1/nodes/${node.name}/claims`;
    const headers = { 'X-Tenant-ID': lab.b };
    expect((await lab.ask('POST', claims, { token: platform, headers })).status).to.equal(201);
    const shown = await lab.ask('GET', `/api/v1/nodes/${node.name}`, { token: admin });
    const release = { token: admin, headers: { 'X-Tenant-ID': lab.a } };
    const tried = await lab.ask('DELETE', `/api/v1/nodes/${node.name}/claim?dryRun=true`, release);
    const released = await lab.ask('DELETE', `/api/v1/nodes/${node.name}/claim`, release);
    const theirs = await lab.ask('GET', `/api/v1/nodes/${node.name}`, { token: b });
    const events = await lab.ask('GET', '/api/v1/events', { token: b });

    for (const { text } of [shown, tried, released]) expect(text).to.not.include(lab.b);
    expect(theirs.status).to.equal(200);
    for (const { text } of [theirs, events]) {
      expect(text).to.not.include(lab.a);
      expect(text).to.not.include('secret-rack');
    }
    expect((await renewAt(node.id, key, Date.now())).body['code']).to.equal('node_proof_invalid');
  });
});
