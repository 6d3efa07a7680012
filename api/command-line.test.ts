import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { ApiLab, webDeployment } from './api-lab.testing.js';
import { keys } from '../crds/keys/index.js';
import { formatToken } from '../pkg/auth/index.js';
import { create, replace, value } from '../pkg/store/index.js';
import { toCredentialPath } from '../pkg/secrets/index.js';
import { createTestTerminal } from '../pkg/terminal/terminal.testing.js';
import { run } from '../pkg/cli/run.js';

const CANARY = 'canary-5d1e';
const PATH = 'deployments/web-db';

describe('moor, on a real server:', () => {
  let lab: ApiLab;
  let folder: string;
  let token: string;

  beforeEach(async () => {
    lab = await new ApiLab({ settings: { quotas: ['deployments=1', 'cpu=1500m', 'memory=2Gi'] } }).start();
    token = await lab.tenantToken(lab.a);
    folder = mkdtempSync(join(tmpdir(), 'moor-cli-'));
  });
  afterEach(async () => {
    await lab.stop();
    rmSync(folder, { recursive: true });
  });

  const moorAs = async (as: string, words: readonly string[], input = '') => {
    const environment = { MOORING_SERVER: lab.server.url, MOORING_TOKEN: as, HOME: folder, MOORING_HOME: folder };
    const terminal = createTestTerminal(environment, { readInput: () => Promise.resolve(input) });
    const code = await run(words, terminal);
    expect(terminal.printed.out + terminal.printed.err, 'a value is never printed').not.to.contain(CANARY);
    return { code, ...terminal.printed };
  };
  const moor = (...words: readonly string[]) => moorAs(token, words);
  const file = (name: string, text: string | Buffer) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const deploy = (vaultPath = PATH) =>
    lab.ask('POST', '/api/v1/deployments', {
      token,
      body: webDeployment('web', {
        secrets: [{ name: 'DB', vault_path: vaultPath, anchor: 'external', rotation: 'restart' }],
        composedSecrets: { URL: 'db://{{secret.web-db.password}}@db' },
      }),
    });
  const stored = async () => {
    const reading = await lab.secrets.read(toCredentialPath(lab.a, PATH));
    if (reading.kind !== 'found') return undefined;
    return Object.fromEntries([...reading.document].map(([key, secret]) => [key, secret.reveal()]));
  };

  it('login keeps what the server says yes to, and contexts choose whom it speaks for', async () => {
    const environment = { HOME: folder, MOORING_HOME: folder };
    const type = async (words: readonly string[], secret?: string) => {
      const terminal = createTestTerminal(environment, { askSecret: () => Promise.resolve(secret) });
      return { code: await run(words, terminal), ...terminal.printed };
    };
    const server = ['--server', lab.server.url];
    const unknown = formatToken('admin', Buffer.alloc(12, 7), Buffer.alloc(32, 7));
    expect((await type([...server, 'login'], unknown)).code, 'unknown to the server').to.equal(6);
    expect((await type([...server, 'login', '--context', 'mine'], token)).out).to.match(
      /as admin of tenant \S+, until/,
    );
    expect(
      (await type(['login', ...server, '--tenant', lab.b], (await lab.token({ kind: 'admin' })).text)).code,
    ).to.equal(0);
    expect((await type(['quotas', '-o', 'json'])).out).to.contain(lab.b);
    expect((await type(['--context', 'mine', 'quotas', '-o', 'json'])).out).to.contain(lab.a);
  });

  describe('secrets', () => {
    it('write sends a map of values from a file', async () => {
      const { code, out } = await moor('secrets', 'write', PATH, '--values', file('v.yaml', `password: ${CANARY}\n`));
      expect([code, out]).to.deep.equal([0, `secret/${PATH} written: version 1, keys password\n`]);
      expect(await stored()).to.deep.equal({ password: CANARY });
    });

    it('write sends files and standard input as they are, one value each', async () => {
      const pem = file('key.pem', `-----\n${CANARY}\n-----`);
      const words = ['secrets', 'write', PATH, '--from', `key=${pem}`, 'password=-'];
      const { code, out, err } = await moorAs(token, words, `${CANARY}\n`);
      expect([code, out]).to.deep.equal([0, `secret/${PATH} written: version 1, keys key, password\n`]);
      expect(err).to.equal('  warning  the value of password ends in a line break, which is kept\n');
      expect(await stored()).to.deep.equal({ key: `-----\n${CANARY}\n-----`, password: `${CANARY}\n` });
    });

    for (const [what, words] of [
      ['no value', []],
      ['a value instead of a file, without repeating it', ['--from', `password=${CANARY}`]],
      ['no key', ['--from', CANARY]],
      ['standard input twice', ['--values', '-', '--from', 'a=-']],
      ['a file that is no text', ['--from', 'key=BINARY']],
    ] as const) {
      it(`write refuses ${what}`, async () => {
        const binary = file('binary', Buffer.from([0xff, 0xfe, 0]));
        const { code } = await moor('secrets', 'write', PATH, ...words.map(word => word.replace('BINARY', binary)));
        expect(code).to.equal(2);
        expect(await stored()).to.equal(undefined);
      });
    }

    it('write warns of a key that a template uses and that is left out', async () => {
      await moorAs(token, ['secrets', 'write', PATH, '--from', 'password=-'], CANARY);
      await deploy();
      const { code, err } = await moorAs(token, ['secrets', 'write', PATH, '--from', 'user=-'], CANARY);
      expect(code).to.equal(0);
      expect(err).to.contain('secret_key_in_use').and.to.contain('deployment web');
    });

    it('generate has the server draw values, beside those of a file', async () => {
      const values = file('v.yaml', 'user: shop\n');
      const words = ['secrets', 'generate', PATH, 'password', 'token', '--length', '40', '--charset', 'urlsafe'];
      const { code, out } = await moor(...words, '--values', values);
      expect([code, out]).to.deep.equal([0, `secret/${PATH} written: version 1, keys password, token, user\n`]);
      const document = await stored();
      expect(document?.['user']).to.equal('shop');
      expect(document?.['password']).to.match(/^[\w-]{40}$/);
      expect(document?.['password']).not.to.equal(document?.['token']);
    });

    it('list shows what is stored and what is referred to, by whom', async () => {
      await moorAs(token, ['secrets', 'write', 'resources/smtp', '--from', 'host=-'], CANARY);
      await deploy();
      const { code, out } = await moor('secrets', 'list');
      expect(code).to.equal(0);
      expect(out).to.match(
        /^PATH +VERSION +ROTATION +USED BY\ndeployments\/web-db +- +- +web\nresources\/smtp +1 +- +-\n$/,
      );
      expect((await moor('get', 'secrets', '-o', 'name')).out).to.equal(`secret/${PATH}\nsecret/resources/smtp\n`);
      const other = await moorAs(await lab.tenantToken(lab.b), ['secrets', 'list']);
      expect([other.out, other.err]).to.deep.equal(['', 'no secrets\n']);
    });

    it('show names the keys, the version and the consumers', async () => {
      await moor('secrets', 'write', PATH, '--values', file('v.yaml', `user: a\npassword: ${CANARY}\n`));
      await deploy();
      const { code, out } = await moor('secrets', 'show', PATH);
      expect([code, out]).to.deep.equal([0, `${PATH}\n  version  1\n  keys     password, user\n  used by  web\n`]);
      expect((await moor('secrets', 'show', 'deployments/none')).code).to.equal(3);
      expect((await moor('secrets', 'show', 'elsewhere/none')).err).to.contain('secret_path_namespace');
      expect((await moor('secrets', 'show', 'web-db')).code).to.equal(2);
      const other = await moorAs(await lab.tenantToken(lab.b), ['secrets', 'show', PATH]);
      expect(other.code).to.equal(3);
    });

    it('consumers shows who uses which keys', async () => {
      const none = await moor('secrets', 'consumers', PATH);
      expect([none.code, none.err]).to.deep.equal([0, `no deployment and no job refers to ${PATH}\n`]);
      await deploy();
      const { out } = await moor('secrets', 'consumers', PATH);
      expect(out).to.match(/USED BY +AS +ANCHOR +TEMPLATES \(KEYS\)\nweb +DB +external +URL \(password\)\n$/);
    });

    it('delete destroys one that nothing refers to', async () => {
      await moorAs(token, ['secrets', 'write', PATH, '--from', 'password=-'], CANARY);
      await deploy();
      const refused = await moor('secrets', 'delete', PATH);
      expect([refused.code, refused.err]).to.satisfy(
        ([code, err]: [number, string]) => code === 1 && err.includes('secret_in_use'),
      );
      await moorAs(token, ['secrets', 'write', 'resources/smtp', '--from', 'host=-'], CANARY);
      expect((await moor('secrets', 'delete', 'resources/smtp')).out).to.equal('secret/resources/smtp deleted\n');
      expect((await moor('secrets', 'show', 'resources/smtp')).code).to.equal(3);
    });
  });

  describe('describe node', () => {
    const at = '2026-01-02T03:04:05.000Z';
    const report = {
      deployment: 'web',
      slot: 0,
      nodeId: 'node_1',
      templateHash: 'h',
      state: 'running',
      health: 'healthy',
    };
    beforeEach(async () => {
      await lab.token({ kind: 'node', tenant: lab.a, node: 'node_1', nodeName: 'attic' });
    });
    const place = async (deployment: string, slot: number, template: object) => {
      const uid = `rep_${deployment}_${slot}`;
      const made = { secretsVersion: 0, ...template };
      const replica = { uid, tenant: lab.a, deployment, slot, nodeId: 'node_1', template: made };
      await create(lab.store, keys.replica(lab.a, deployment, slot), replica);
    };

    it('lists what runs on it with requests and host ports, and tells heartbeat and report apart', async () => {
      await place('web', 1, { image: 'web:1' });
      const ports = [
        { containerPort: 80, hostPort: 8080, protocol: 'tcp' },
        { containerPort: 81, protocol: 'tcp' },
      ];
      await place('web', 0, { image: 'web:1', resources: { cpu: '250m', memory: '64Mi' }, ports });
      await create(lab.store, keys.report(lab.a, 'node_1', 'rep_web_0'), {
        ...report,
        replica: 'rep_web_0',
        restarts: 3,
        at,
      });
      const { code, out } = await moor('describe', 'node', 'attic');
      expect(code).to.equal(0);
      expect(out)
        .to.match(/^Last heartbeat: never$/m)
        .and.to.match(/^Last report: +2026-01-02T03:04:05.000Z \(\d+d ago\)$/m);
      expect(out).to.match(/^CPU: +0\.75 of 1 cores free$/m);
      expect(out).to.match(/^ +web +0 +running +healthy +3 +250m +64Mi +8080\/tcp +\d+d/m);
      expect(out).to.match(/^ +web +1 +pending +none +0 +- +- +- +never$/m);
    });

    it('shows the versions of its agent and of its engine, which an older agent does not name', async () => {
      const older = (await moor('describe', 'node', 'attic')).out;
      expect(older).not.to.match(/^Engine:/m);
      const entry = (await lab.store.get(keys.node(lab.a, 'attic')))!;
      const named = { agentVersion: '1.7.3', engine: { name: 'docker', version: '29.1.0' } };
      await replace(lab.store, entry, { ...value<object>(entry), ...named });
      expect((await moor('describe', 'node', 'attic')).out)
        .to.match(/^Agent: +1\.7\.3$/m)
        .and.to.match(/^Engine: +docker 29\.1\.0$/m);
    });

    it('says that nothing runs on it, and hides nodes of others', async () => {
      expect((await moor('describe', 'node', 'attic')).out).to.match(/^Replicas: +none$/m);
      expect((await moorAs(await lab.tenantToken(lab.b), ['describe', 'node', 'attic'])).code).to.equal(3);
      const other = await lab.tenantToken(lab.b);
      expect((await lab.ask('GET', '/api/v1/nodes/attic/replicas', { token: other })).status).to.equal(404);
    });

    it('shows its conditions', async () => {
      const key = keys.node(lab.a, 'attic');
      const condition = {
        type: 'LinkLocalBlocked',
        status: 'False',
        reason: 'no_rule',
        message: 'iptables is missing',
      };
      const entry = (await lab.store.get(key))!;
      await replace(lab.store, entry, { ...value<object>(entry), conditions: [condition] });
      expect((await moor('describe', 'node', 'attic')).out).to.match(
        /LinkLocalBlocked +False +no_rule +iptables is missing/,
      );
    });
  });

  describe('config --running', () => {
    it('shows the settings of the server in use, to administrators of the platform only', async () => {
      const { text: platform } = await lab.token({ kind: 'admin' });
      const { code, out } = await moorAs(platform, ['config', '--running']);
      expect(code).to.equal(0);
      expect(out).to.match(/^quotas +deployments=1,cpu=1500m,memory=2Gi +set /m);
      expect(out).to.match(/^secretsDriver +embedded +default /m);
      expect((await moor('config', '--running')).code).to.equal(6);
      expect((await moorAs(platform, ['config', '--running', '--config', 'x'])).code).to.equal(2);
    });

    it('hides credentials that stand in an address', async () => {
      const other = await new ApiLab({ settings: { vaultAddress: `https://me:${CANARY}@vault.example.com` } }).start();
      const { text: platform } = await other.token({ kind: 'admin' });
      const { text } = await other.ask('GET', '/api/v1/config', { token: platform });
      await other.stop();
      expect(text).to.contain('https://…@vault.example.com').and.not.to.contain(CANARY);
    });
  });

  describe('quotas', () => {
    it('shows what the tenant may have and has', async () => {
      await deploy();
      const { code, out } = await moor('quotas');
      expect(code).to.equal(0);
      expect(out).to.match(/^QUOTA +USED +LIMIT +LEFT +SET BY\ndeployments +1 +1 +0 +configuration\n/);
      expect(out)
        .to.match(/\ncpu +0 +1\.5 +1\.5 +/)
        .and.to.match(/\nmemory +0B? +2GiB +2GiB +/);
    });

    it('shows those of another tenant to an administrator who names it', async () => {
      const { text: platform } = await lab.token({ kind: 'admin' });
      const body = { containers: 7 };
      await lab.ask('PUT', `/api/v1/tenants/${lab.b}/quotas`, { token: platform, body });
      const { code, out } = await moorAs(platform, ['--tenant', lab.b, 'quotas', '-o', 'json']);
      expect(code).to.equal(0);
      expect(JSON.parse(out)).to.nested.include({ tenant: lab.b, 'quotas.containers.limit': 7 });
      expect((await moorAs(platform, ['quotas'])).err).to.contain('tenant_header_required');
      expect((await moor('--tenant', lab.b, 'quotas')).err).to.contain('tenant_mismatch');
    });
  });
});
