import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { findConnection } from './connection.js';
import { createTestTerminal } from './terminal.testing.js';
import { UsageFault } from './exit-code.js';

describe('findConnection', () => {
  let folder: string;
  let home: Record<string, string>;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'moor-connection-'));
    home = { HOME: folder, MOORING_HOME: join(folder, '.mooring') };
    mkdirSync(join(folder, '.mooring'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (path: string, text: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
    return join(folder, path);
  };
  const development = () =>
    write(
      '.mooring/dev.json',
      JSON.stringify({ server: 'http://127.0.0.1:7070', tokens: { tenant: 'mtk_d', platform: 'mad_d' } }),
    );
  const config = () => write('.config/mooring/config.yaml', 'server: https://moor.example.com\ntoken: mtk_c\n');
  const find = (flags: Parameters<typeof findConnection>[0], environment = {}, scope?: 'platform') =>
    findConnection(flags, createTestTerminal({ ...home, ...environment }), scope);

  it('prefers flags, then environment, then the configuration file, then the development server', async () => {
    development();
    expect(await find({})).to.include({ origin: 'development', server: 'http://127.0.0.1:7070', token: 'mtk_d' });
    config();
    expect(await find({})).to.include({ origin: 'config', server: 'https://moor.example.com', token: 'mtk_c' });
    const environment = { MOORING_SERVER: 'http://e:1', MOORING_TOKEN: 'mtk_e' };
    expect(await find({}, environment)).to.include({ origin: 'environment', server: 'http://e:1', token: 'mtk_e' });
    const tokenFile = write('token', 'mtk_f\n');
    expect(await find({ server: 'http://f:1', tokenFile }, environment)).to.include({
      origin: 'flag',
      server: 'http://f:1',
      token: 'mtk_f',
    });
  });

  it('uses the context that a flag or the environment names, and sends it nothing that is not its own', async () => {
    development();
    write(
      '.config/mooring/config.yaml',
      'current: a\ncontexts:\n  a: {server: "http://a:1", token: mtk_a}\n  b: {server: "http://b:1", token: mtk_b, tenant: t-b, caFile: b.pem}\n',
    );
    const b = { server: 'http://b:1', token: 'mtk_b', tenant: 't-b', caFile: 'b.pem' };
    const other = { MOORING_SERVER: 'http://e:1', MOORING_TOKEN: 'mtk_e', MOORING_CA_FILE: 'e.pem' };

    expect(await find({})).to.include({ server: 'http://a:1', token: 'mtk_a', tenant: undefined });
    expect(await find({}, { MOORING_CONTEXT: 'b' })).to.include(b);
    expect(await find({ context: 'b' }, other)).to.include(b);
    expect(await find({ context: 'b', tenant: 't-c' })).to.include({ token: 'mtk_b', tenant: 't-c' });
    expect(await find({}, { ...other, MOORING_CONTEXT: 'b' })).to.include({ server: 'http://e:1', token: 'mtk_e' });
    expect(await find({ context: 'development' })).to.include({ origin: 'development', token: 'mtk_d' });
    for (const flags of [{ context: 'c' }, { context: 'a', server: 'http://a:1' }])
      expect(await find(flags).catch((error: unknown) => error)).to.be.instanceOf(UsageFault);
  });

  it('never returns a token for a server it was not configured for', async () => {
    development();
    config();

    expect((await find({ server: 'http://elsewhere:1' })).token).to.equal(undefined);
    expect((await find({ server: 'http://127.0.0.1:7070/' })).token).to.equal('mtk_d');
  });

  it('sends a token of the environment only to a server that is named beside it, and to the development server', async () => {
    development();
    const own = { MOORING_TOKEN: 'mtk_e' };
    expect(await find({}, own)).to.include({ origin: 'development', token: 'mtk_e' });
    config();
    const tokenFile = write('token', 'mtk_f\n');
    for (const [environment, variable] of [
      [own, 'MOORING_TOKEN'],
      [{ ...own, MOORING_CONTEXT: 'default' }, 'MOORING_TOKEN'],
      [{ MOORING_TOKEN_FILE: tokenFile }, 'MOORING_TOKEN_FILE'],
    ] as const) {
      const thrown = (await find({}, environment).catch((error: unknown) => error)) as UsageFault;
      expect(thrown).to.be.instanceOf(UsageFault);
      expect(thrown.message).to.equal(
        `${variable} is set without MOORING_SERVER, so it is not sent to https://moor.example.com of a context. Name its server with MOORING_SERVER or --server, or unset it.`,
      );
    }
    const named = { server: 'https://moor.example.com', token: 'mtk_e' };
    expect(await find({ server: named.server }, own)).to.include(named);
    expect(await find({}, { ...own, MOORING_SERVER: named.server })).to.include(named);
    expect(await find({}, { ...own, MOORING_CONTEXT: 'development' })).to.include({ token: 'mtk_e' });
    expect((await find({ context: 'default' }, own)).token).to.equal('mtk_c');
    expect((await find({ tokenFile }, own)).token).to.equal('mtk_f');
  });

  it('returns the platform token for the platform scope', async () => {
    development();

    expect((await find({}, {}, 'platform')).token).to.equal('mad_d');
  });

  it('reads the token from a file that the environment names', async () => {
    const MOORING_TOKEN_FILE = write('token', 'mtk_g\n');

    expect((await find({ server: 'http://x:1' }, { MOORING_TOKEN_FILE })).token).to.equal('mtk_g');
  });

  it('says what to do about a damaged file of the development server, and nothing of what is in it', async () => {
    write('.mooring/dev.json', '{"tokens":{"tenant":mtk_d');
    const thrown = (await find({}).catch((error: unknown) => error)) as UsageFault;

    expect(thrown).to.be.instanceOf(UsageFault);
    expect(thrown.message).to.include('dev.json is damaged: run "moor down" and "moor up"').and.not.to.include('mtk_d');
    expect(thrown.cause).to.equal(undefined);
  });

  for (const [what, flags] of [
    ['no server is known', {}],
    ['the address is not a URL', { server: '127.0.0.1:7070' }],
    ['the token file is missing', { server: 'http://x:1', tokenFile: '/nowhere' }],
  ] as const) {
    it(`throws a usage fault when ${what}`, async () => {
      const thrown = await find(flags).catch((error: unknown) => error);

      expect(thrown).to.be.instanceOf(UsageFault);
    });
  }
});
