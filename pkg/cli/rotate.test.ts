import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { FakeApi, refused, testTerminal } from './fake-api.js';
import type { run as Run } from './run.js';

const PHASES = ['stage', 'promote', 'verify', 'retire'] as const;
const SHOW = 'GET /api/v1/deployments/web/secrets/rotation';
const ASK = 'POST /api/v1/deployments/web/secrets/rotate';

describe('moor rotate', () => {
  let api: FakeApi;
  let folder: string;
  let run: typeof Run;
  /** Where the rotation of the fake server stands, and how many looks until its phase holds. */
  let stands: { phase: string; looks: number; ill?: string };

  before(async () => {
    ({ run } = await import('./run.js'));
  });

  const view = () => {
    const { phase, looks, ill } = stands;
    const isOver = phase === 'retire' && looks <= 0;
    const next = PHASES[(PHASES.indexOf(phase as 'stage') + 1) % PHASES.length];
    const holds = looks <= 0 && ill !== phase;
    const waitsFor = holds ? null : `${looks} looks`;
    return { secret: 'web-db', phase: isOver ? 'idle' : phase, holds, next, waitsFor, secretsVersion: 1 };
  };

  beforeEach(async () => {
    api = await FakeApi.start();
    folder = mkdtempSync(join(tmpdir(), 'moor-cli-'));
    stands = { phase: 'idle', looks: 0 };
    api.replies.set(SHOW, () => {
      stands.looks--;
      return { status: 200, body: view() };
    });
    api.replies.set(ASK, ({ body }) => {
      stands = { ...stands, phase: (body as { phase: string }).phase, looks: 2 };
      return { status: 200, body: view() };
    });
    api.replies.set('GET /api/v1/deployments/web', () => ({
      status: 200,
      body: { name: 'web', status: { phase: stands.ill === stands.phase ? 'Degraded' : 'Running' } },
    }));
  });
  afterEach(async () => {
    await api.stop();
    rmSync(folder, { recursive: true });
  });

  const moor = async (...words: readonly string[]) => {
    const terminal = testTerminal({
      MOORING_SERVER: api.address,
      MOORING_TOKEN: 'mtk_t',
      HOME: folder,
      MOORING_HOME: folder,
    });
    return { code: await run(['rotate', 'web', ...words], terminal), ...terminal.printed };
  };
  const asked = () => api.got.filter(({ method }) => method === 'POST').map(({ body }) => body);

  it('shows how far it is', async () => {
    stands = { phase: 'stage', looks: 0 };
    const { code, out } = await moor();
    expect(code).to.equal(0);
    expect(out).to.contain('web-db: stage').and.to.contain('promote');
  });

  it('asks for one phase', async () => {
    const { code } = await moor('--phase', 'stage', '--secret', 'web-db');
    expect(code).to.equal(0);
    expect(asked()).to.deep.equal([{ phase: 'stage', secret: 'web-db' }]);
  });

  it('takes values from a file', async () => {
    const file = join(folder, 'values.yaml');
    writeFileSync(file, 'password: new\n');
    await moor('--phase', 'stage', '--values', file);
    expect(asked()).to.deep.equal([{ phase: 'stage', values: { password: 'new' } }]);
  });

  it('walks through all phases, each when the one before it holds', async () => {
    const { code, out } = await moor('--auto');
    expect(code).to.equal(0);
    expect(asked()).to.deep.equal(PHASES.map(phase => ({ phase })));
    expect(out).to.contain('promote, until').and.to.contain('idle');
  });

  it('goes on from where it stands', async () => {
    stands = { phase: 'promote', looks: 1 };
    expect((await moor('--auto')).code).to.equal(0);
    expect(asked()).to.deep.equal([{ phase: 'verify' }, { phase: 'retire' }]);
  });

  it('does not begin a second one', async () => {
    stands = { phase: 'retire', looks: 2 };
    expect((await moor('--auto')).code).to.equal(0);
    expect(asked()).to.deep.equal([]);
  });

  it('stops at the first trouble, and says how to turn back', async function () {
    this.timeout(20_000);
    stands = { ...stands, ill: 'promote' };
    const { code, err } = await moor('--auto');
    expect(code).to.equal(1);
    expect(err).to.contain('--phase abort');
    expect(asked()).to.deep.equal([{ phase: 'stage' }, { phase: 'promote' }]);
  });

  it('gives up when the time is over', async () => {
    stands = { phase: 'promote', looks: 1_000 };
    expect((await moor('--auto', '--timeout', '1s')).code).to.equal(5);
  });

  it('says why the server refuses', async () => {
    api.replies.set(ASK, refused(409, 'rotation_transition_invalid', 'phase'));
    const { code, err } = await moor('--phase', 'retire');
    expect(code).to.equal(1);
    expect(err).to.contain('rotation_transition_invalid');
  });

  it('takes a phase or all of them', async () => {
    expect((await moor('--auto', '--phase', 'stage')).code).to.equal(2);
  });
});
