import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { expect } from 'chai';
import { parse } from 'yaml';

import { formatToken } from '../auth/index.js';
import { clone } from '../version/index.js';
import { useCommandLab } from './command-lab.testing.js';
import { findCurrentContext } from '../terminal/index.js';
import { createTestTerminal, type TestTerminal } from '../terminal/terminal.testing.js';
import { replyRefused } from './fake-api.testing.js';
import { run } from './run.js';

const mint = (kind: 'tenant' | 'admin' | 'join', fill: number) =>
  formatToken(kind, Buffer.alloc(12, fill), Buffer.alloc(32, fill));
const TOKEN = mint('tenant', 1);
const ADMIN = mint('admin', 2);
const TENANT = '0b5c3a52-8d0e-4a53-9d0c-4f3c6b6f2a10';

describe('moor login and moor context', () => {
  const lab = useCommandLab();
  const path = () => join(lab.folder, '.config/mooring/config.yaml');
  const stored = () => parse(readFileSync(path(), 'utf8')) as { current?: string; contexts: Record<string, unknown> };
  const prepare = (text: string) => {
    mkdirSync(dirname(path()), { recursive: true });
    writeFileSync(path(), text, { mode: 0o644 });
  };
  /** Nothing but the home is set: a person who signs in has no server in the environment. */
  const moor = async (words: readonly string[], more: Partial<TestTerminal> = {}, environment = {}) => {
    const home = { HOME: lab.folder, MOORING_HOME: lab.folder };
    const terminal = createTestTerminal({ ...home, ...environment }, more);
    const code = await run(words, terminal);
    const { out, err } = terminal.printed;
    for (const token of [TOKEN, ADMIN]) expect(out + err, 'a token is never printed').not.to.contain(token);
    return { code, out, err };
  };
  const piped = (text: string) => ({ readInput: () => Promise.resolve(`${text}\n`) });
  const login = (token: string, ...words: readonly string[]) =>
    moor(['--server', lab.api.address, 'login', ...words], piped(token));

  beforeEach(() => {
    const { replies } = lab.api;
    replies.set('GET /api/v1/tokens/self', ({ token }) => ({
      status: 200,
      body:
        token === ADMIN ? { kind: 'admin' } : { kind: 'tenant', role: 'deployer', expiresAt: '2027-01-01T00:00:00Z' },
    }));
    replies.set('GET /api/v1/tenants/self', { status: 200, body: { id: TENANT, name: 'shop' } });
    replies.set('GET /api/v1/deployments', { status: 200, body: { items: [], revision: '1' } });
  });

  it('keeps a token that the server knows, named after the tenant, for its owner only', async () => {
    const { code, out } = await login(TOKEN);
    expect(out).to.contain(`logged in to ${lab.api.address} as deployer of tenant shop, until 2027-01-01`);
    expect(code).to.equal(0);
    expect(stored()).to.deep.equal({
      current: 'shop',
      contexts: { shop: { server: lab.api.address, token: TOKEN, role: 'deployer' } },
    });
    expect([path(), dirname(path())].map(each => statSync(each).mode & 0o777)).to.deep.equal([0o600, 0o700]);
    expect((await moor(['get', 'deployments'])).code).to.equal(0);
    expect(lab.api.got.at(-1)).to.include({ token: TOKEN, path: '/api/v1/deployments?limit=500' });
  });

  it('asks on a terminal without showing the token, and reads --token-file', async () => {
    const asked: string[] = [];
    const askSecret = (question: string) => Promise.resolve(asked.push(question) > 0 ? TOKEN : undefined);
    const server = ['--server', lab.api.address];
    expect((await moor([...server, 'login'], { askSecret })).code).to.equal(0);
    expect(asked).to.deep.equal([`Token for ${lab.api.address}: `]);
    writeFileSync(join(lab.folder, 'token'), `${ADMIN}\n`);
    const more = ['--token-file', join(lab.folder, 'token'), '--context', 'ops', '--tenant', TENANT];
    const { out } = await moor([...server, ...more, 'login'], { askSecret });
    expect(out).to.contain('as administrator of the platform, acting for tenant shop');
    expect(stored().contexts['ops']).to.include({ token: ADMIN, tenant: TENANT });
    expect([stored().current, Object.keys(stored().contexts)]).to.deep.equal(['ops', ['shop', 'ops']]);
  });

  it('shows on a real terminal nothing of what is typed', async () => {
    const environment = { PATH: process.env['PATH'], TERM: 'dumb', HOME: lab.folder, MOORING_HOME: lab.folder };
    const typed = `exec ${join(clone, 'moor')} login --server ${lab.api.address}`;
    const child = spawn('script', ['-qefc', typed, '/dev/null'], { env: environment });
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => {
      if (!shown.includes('Token for') && `${shown}${String(chunk)}`.includes('Token for'))
        child.stdin.write(`${TOKEN}\r`);
      shown += String(chunk);
    });
    const [code] = (await once(child, 'close')) as [number];
    expect(shown).to.contain('logged in').and.not.to.contain(TOKEN);
    expect([code, stored().current]).to.deep.equal([0, 'shop']);
  }).timeout(60_000);

  const refused: readonly (readonly [string, string, number, RegExp])[] = [
    ['nothing', '', 2, /no token was given/],
    ['half a token', TOKEN.slice(0, -3), 2, /no token of Mooring/],
    ['the token of a machine', mint('join', 3), 2, /a join token, for machines/],
  ];
  for (const [what, token, code, says] of refused)
    it(`refuses ${what}, asks no server, and keeps nothing`, async () => {
      const answer = await login(token);
      expect(answer.err).to.match(says);
      expect([answer.code, lab.api.got.length]).to.deep.equal([code, 0]);
      expect(() => stored()).to.throw('ENOENT');
    });

  it('keeps nothing that the server refuses, and needs to know a server', async () => {
    lab.api.replies.set('GET /api/v1/tokens/self', replyRefused(401, 'auth_invalid'));
    expect((await login(TOKEN)).code).to.equal(6);
    expect(() => stored()).to.throw('ENOENT');
    const { code, err } = await moor(['login'], piped(TOKEN));
    expect([code, err]).to.deep.equal([
      2,
      'moor: no server is known. Name one: moor login --server https://moor.example.com\n',
    ]);
  });

  it('takes a file of the first form over, through a link, and signs in to the current context again', async () => {
    const real = join(lab.folder, 'dotfiles.yaml');
    writeFileSync(real, `server: ${lab.api.address}\ntoken: old\ncaFile: /nowhere\n`, { mode: 0o644 });
    mkdirSync(dirname(path()), { recursive: true });
    symlinkSync(real, path());
    const ca = join(lab.folder, 'ca.pem');
    writeFileSync(ca, 'an authority');
    expect((await moor(['login', '--ca-file', ca], piped(TOKEN))).code).to.equal(0);
    expect(stored()).to.deep.equal({
      current: 'default',
      contexts: { default: { server: lab.api.address, token: TOKEN, role: 'deployer', caFile: ca } },
    });
    expect(statSync(real).mode & 0o777).to.equal(0o600);
  });

  it('takes no name that another server has', async () => {
    prepare('current: shop\ncontexts: { shop: { server: "http://elsewhere:1", token: x } }\n');
    const { err } = await login(TOKEN, '--context', 'shop');
    expect(err).to.contain('context "shop" is for http://elsewhere:1');
    expect((await login(TOKEN)).code).to.equal(0);
    const own = `shop@${new URL(lab.api.address).host.replace(':', '-')}`;
    expect([stored().current, Object.keys(stored().contexts)]).to.deep.equal([own, ['shop', own]]);
  });

  it('signs in to the context that MOORING_CONTEXT names, and shows the token to no other', async () => {
    const staging = { server: 'http://127.0.0.1:1', token: 'theirs' };
    prepare(JSON.stringify({ current: 'staging', contexts: { staging, prod: { server: lab.api.address } } }));
    expect((await moor(['login'], piped(TOKEN), { MOORING_CONTEXT: 'prod' })).code).to.equal(0);
    expect(stored().contexts['staging']).to.deep.equal(staging);
    expect(stored().contexts['prod']).to.include({ token: TOKEN });
  });

  it('sends no token over plain HTTP to another machine', async () => {
    for (const host of ['elsewhere:7070', '10.0.0.1', '127.0.0.1.example.com']) {
      const { code, err } = await moor(['login', '--server', `http://${host}`], piped(TOKEN));
      expect([code, err]).to.deep.equal([
        2,
        `moor: http://${host} is not encrypted: others on the network path could read the token. Sign in at https://${host}, with --ca-file where its authority is your own, or through a tunnel at 127.0.0.1.\n`,
      ]);
    }
    for (const host of ['localhost', '127.1.2.3', '[::1]']) {
      const { err } = await moor(['login', '--server', `http://${host}:1`], piped(''));
      expect(err).to.contain('no token was given');
    }
  });

  it('keeps contexts that were written while it asked, and takes the name of none of another server', async () => {
    const meanwhile = { server: 'http://127.0.0.1:1', token: 'theirs' };
    lab.api.replies.set('GET /api/v1/tokens/self', () => {
      prepare(JSON.stringify({ current: 'late', contexts: { late: meanwhile } }));
      return { status: 200, body: { kind: 'tenant', role: 'deployer' } };
    });
    expect((await login(TOKEN)).code).to.equal(0);
    expect(Object.keys(stored().contexts)).to.deep.equal(['late', 'shop']);
    rmSync(path());
    expect((await login(TOKEN, '--context', 'late')).err).to.contain('context "late" is for http://127.0.0.1:1');
    expect(stored().contexts).to.deep.equal({ late: meanwhile });
  });

  it('replaces a context unasked only by one of the same right', async () => {
    await login(TOKEN);
    const acting = await login(ADMIN, '--tenant', TENANT);
    expect(acting.out).to.contain('context shop-platform is current');
    await login(ADMIN, '--tenant', TENANT);
    await login(TOKEN);
    expect(Object.keys(stored().contexts)).to.deep.equal(['shop', 'shop-platform']);
    lab.api.replies.set('GET /api/v1/tokens/self', { status: 200, body: { kind: 'tenant', role: 'viewer' } });
    await login(TOKEN);
    expect(Object.keys(stored().contexts)).to.deep.equal(['shop', 'shop-platform', 'shop-viewer']);
    expect(stored().contexts['shop']).to.include({ token: TOKEN, role: 'deployer' });
    expect((await login(TOKEN, '--context', 'shop')).code, 'asked for').to.equal(0);
    expect(stored().contexts['shop']).to.include({ role: 'viewer' });
  });

  it('lists, uses, renames and deletes contexts, and shows no token', async () => {
    writeFileSync(join(lab.folder, 'dev.json'), JSON.stringify({ server: 'http://d:1', tokens: { tenant: 'mtk_d' } }));
    await login(TOKEN);
    await login(ADMIN, '--context', 'ops', '--tenant', TENANT);
    const listed = await moor(['context']);
    expect(listed.out.split('\n').map(line => line.trim().split(/\s+/))).to.deep.equal([
      ['CURRENT', 'NAME', 'SERVER', 'TENANT'],
      ['shop', lab.api.address, '-'],
      ['*', 'ops', lab.api.address, TENANT],
      ['development', 'http://d:1', '-'],
      [''],
    ]);
    expect((await moor(['context', 'list', '-o', 'name'])).out).to.equal(
      'context/shop\ncontext/ops\ncontext/development\n',
    );
    expect((await moor(['context', 'use', 'shp'])).err).to.contain('Did you mean shop?');
    expect((await moor(['context', 'use', 'shop'])).code).to.equal(0);
    expect((await moor(['context', 'rename', 'shop', 'ops'])).err).to.contain('there is a context "ops" already');
    expect((await moor(['context', 'rename', 'shop', 'development'])).code).to.equal(2);
    expect((await moor(['context', 'rename', 'shop', 'store'])).code).to.equal(0);
    expect(stored().current).to.equal('store');
    expect((await moor(['context', 'use', 'development'])).code).to.equal(0);
    expect(stored().current).to.equal(undefined);
    expect((await moor(['context', '-o', 'json'])).out).to.match(
      /"name": "development",\s+"server": "http:\/\/d:1",\s+"current": true/,
    );
    expect((await moor(['context', 'delete', 'store'])).out).to.equal('context store deleted\n');
    expect(Object.keys(stored().contexts)).to.deep.equal(['ops']);
  });

  it('says what the environment names first', async () => {
    await login(TOKEN);
    for (const [environment, says] of [
      [
        { MOORING_SERVER: 'x', MOORING_TOKEN: 'x' },
        'MOORING_SERVER of the environment is used before the current context',
      ],
      [{ MOORING_CONTEXT: 'x' }, 'MOORING_CONTEXT of the environment is used before the current context'],
      [{ MOORING_TOKEN: 'x' }, 'MOORING_TOKEN is set without MOORING_SERVER: commands that use a context are refused'],
    ] as const) {
      const { out, err } = await moor(['context', 'use', 'shop'], {}, environment);
      expect([out, err]).to.deep.equal(['context shop is current\n', `warning: ${says}\n`]);
    }
  });

  it('is known to moor up, which serves beside it', async () => {
    const home = { HOME: lab.folder, MOORING_HOME: lab.folder };
    expect(await findCurrentContext(home)).to.equal(undefined);
    await login(TOKEN);
    expect(await findCurrentContext(home)).to.equal('shop');
    expect(await findCurrentContext({ ...home, MOORING_CONTEXT: 'development' })).to.equal(undefined);
    prepare('[');
    expect(await findCurrentContext(home)).to.equal(undefined);
  });

  for (const [text, problem] of [
    ['- a', 'it must be a map with "server" or "contexts"'],
    ['current: shop', 'it names no server and no contexts'],
    ['contexts: []', '"contexts" must be a map of names to contexts'],
    ['contexts: { shop: { tenant: t } }', 'a context names no "server"'],
  ] as const) {
    it(`says what is wrong with a file and what to do: ${problem}`, async () => {
      prepare(text);
      const { code, err } = await moor(['get', 'deployments']);
      const remedy = 'fix it, or delete it and run "moor login"';
      expect([code, err]).to.deep.equal([2, `moor: ${path()}: ${problem}: ${remedy}.\n`]);
    });
  }

  it('quotes nothing of a damaged file', async () => {
    prepare(`contexts: { shop: { token: ${TOKEN}, "`);
    const { code, err } = await moor(['get', 'deployments']);
    expect([code, err]).to.deep.equal([2, `moor: ${path()} is no YAML: fix it, or delete it and run "moor login".\n`]);
  });
});
