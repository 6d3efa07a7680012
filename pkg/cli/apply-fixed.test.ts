import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const NETWORK = '/api/v1/networks/backend';
const JOB = '/api/v1/jobs/report';
const metadata = { uid: 'u_1', generation: 1, createdAt: '', updatedAt: '', specHash: '' };
const backend = { metadata, name: 'backend', driver: 'bridge', labels: {}, internal: true, nodeId: 'node_1' };
const report = {
  metadata,
  kind: 'Job',
  name: 'report',
  image: 'report:1',
  command: ['make', 'it'],
  environment: { A: '1' },
  ports: [{ containerPort: 80, protocol: 'tcp' }],
  backoffLimit: 3,
  status: { phase: 'Succeeded' },
};

describe('moor apply of objects that stay as they were created', () => {
  const lab = useCommandLab();
  const moor = (text: string, ...words: readonly string[]) => {
    const path = join(lab.folder, 'file.yaml');
    writeFileSync(path, text);
    return lab.moor([words[0] ?? 'apply', '-f', path, ...words.slice(1)]);
  };
  const sent = () => lab.api.got.filter(({ method }) => method !== 'GET');
  const network = 'kind: Network\nname: backend\n';
  const job = 'kind: Job\nname: report\nimage: report:1\n';
  const exist = () => {
    lab.api.replies.set(`GET ${NETWORK}`, { status: 200, body: backend });
    lab.api.replies.set(`GET ${JOB}`, { status: 200, body: report });
    lab.api.replies.set('GET /api/v1/nodes/machine-1', { status: 200, body: { id: 'node_1', name: 'machine-1' } });
    lab.api.replies.set('GET /api/v1/nodes/machine-2', { status: 200, body: { id: 'node_2', name: 'machine-2' } });
  };

  it('creates a network and a job that are absent, in the order of the file', async () => {
    lab.api.replies.set('POST /api/v1/networks', { status: 201, body: { ...backend, alterations: [], warnings: [] } });
    lab.api.replies.set('POST /api/v1/jobs', { status: 201, body: { ...report, alterations: [], warnings: [] } });
    const { code, out } = await moor(`${network}internal: true\n---\n${job}`);
    expect([code, out]).to.deep.equal([0, 'network/backend created\njob/report created\n']);
    expect(sent().map(({ path, body }) => [path, body])).to.deep.equal([
      ['/api/v1/networks', { name: 'backend', internal: true }],
      ['/api/v1/jobs', { kind: 'Job', name: 'report', image: 'report:1' }],
    ]);
  });

  const same: readonly (readonly [string, string])[] = [
    ['a network', network],
    ['a network with its fields', `${network}driver: bridge\ninternal: true\nlabels: {}\n`],
    ['a network by the name of its node', `${network}nodeId: machine-1\n`],
    ['a network by the id of its node', `${network}nodeId: node_1\n`],
    ['a job', `${job}command: [make, it]\ntimeoutSeconds: null\n`],
    ['a job whose ports the server completed', `${job}ports: [{containerPort: 80}]\n`],
  ];
  for (const [what, text] of same) {
    it(`leaves ${what} that is as the file says`, async () => {
      exist();
      const { code, out } = await moor(text);
      expect(code).to.equal(0);
      expect(out).to.match(/^(network\/backend|job\/report) unchanged\n$/);
      expect((await moor(text, 'apply', '--dry-run')).out).to.include('would be unchanged (dry run)');
      expect(await moor(text, 'diff')).to.include({ code: 0, out: '' });
      expect(sent()).to.deep.equal([]);
    });
  }

  const credential = 'secrets: [{resource: db, keys: [password], values: {password: hunter2}}]\n';

  it('compares no secret value, and prints none', async () => {
    lab.api.replies.set(`GET ${JOB}`, {
      status: 200,
      body: { ...report, secrets: [{ resource: 'db', keys: ['password'] }] },
    });
    const same = await moor(`${job}${credential}`);
    expect([same.code, same.out]).to.deep.equal([0, 'job/report unchanged\n']);
    expect(await moor(`${job}${credential}`, 'diff')).to.include({ code: 0, out: '', err: '' });

    const changed = `${job}${credential.replace('resource: db', 'resource: cache')}`;
    for (const command of ['apply', 'diff']) {
      const { code, out, err } = await moor(changed, command);
      expect(code).to.equal(1);
      expect(err).to.include('secrets differs');
      expect(out + err).not.to.include('hunter2');
    }
  });

  it('says what a file does not mention, and refuses to remove it', async () => {
    lab.api.replies.set(`GET ${JOB}`, { status: 200, body: { ...report, schedule: '0 3 * * *' } });
    const kept = await moor(job);
    expect([kept.code, kept.out]).to.deep.equal([0, 'job/report unchanged\n']);
    expect(kept.err).to.include('schedule: not in the file');

    const { code, err } = await moor(`${job}schedule: null\n`);
    expect(code).to.equal(1);
    expect(err).to.include('schedule is "0 3 * * *", and not null');
  });

  const other: readonly (readonly [what: string, text: string, told: string])[] = [
    ['a network', `${network}internal: false\n`, 'internal is true, and not false'],
    ['a network with a label more', `${network}labels: {team: shop}\n`, 'labels is {}, and not {"team":"shop"}'],
    ['a job with another variable', `${job}environment: {A: hidden}\n`, 'environment differs'],
    ['a job with other secrets', `${job}secrets: [{name: DB, values: {password: hidden}}]\n`, 'secrets differs'],
    ['a network of another node', `${network}nodeId: machine-2\n`, 'nodeId is "node_1", and not "machine-2"'],
    ['a job', 'kind: Job\nname: report\nimage: report:2\n', 'image is "report:1", and not "report:2"'],
    ['a job with fewer arguments', `${job}command: [make, hidden]\n`, 'command differs'],
  ];
  for (const [what, text, told] of other) {
    it(`refuses another form of ${what}, and says what to do`, async () => {
      exist();
      const { code, err } = await moor(text);
      expect(code).to.equal(1);
      expect(err).to.include(`cannot be changed: ${told}`).and.to.include('apply again');
      const shown = await moor(text, 'diff');
      expect(shown.code).to.equal(1);
      if (!told.endsWith('differs')) expect(shown.out).to.match(/^[-+](?![-+])/m);
      expect(`${err}${shown.err}${shown.out}`, 'what may be a credential').to.not.include('hidden');
      expect(sent()).to.deep.equal([]);
    });
  }

  it('tells what the server refuses of a new one, at its place in the file', async () => {
    lab.api.replies.set(`GET ${NETWORK}`, replyRefused(404, 'resource_not_found'));
    lab.api.replies.set('POST /api/v1/networks', replyRefused(422, 'network_node_required'));
    const { code, err } = await moor(network);
    expect(code).to.equal(1);
    expect(err).to.include('network_node_required').and.to.include('network/backend');
  });
});
