import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect } from 'chai';

import type { Cancel } from '../clock/index.js';
import { ManualClock } from '../clock/manual-clock.testing.js';
import { useCommandLab } from './command-lab.testing.js';
import { replyRefused } from './fake-api.testing.js';

const PHASES = ['stage', 'promote', 'verify', 'retire'] as const;
const SHOW = 'GET /api/v1/deployments/web/secrets/rotation';
const ASK = 'POST /api/v1/deployments/web/secrets/rotate';

const LOOK_EVERY_MS = 500;

/** Time that passes while the command waits to look again, and at no other. */
class LookClock extends ManualClock {
  override after(ms: number, fire: () => void): Cancel {
    const cancel = super.after(ms, fire);
    if (ms === LOOK_EVERY_MS) void this.pass(ms);
    return cancel;
  }
}

describe('moor rotate', () => {
  const lab = useCommandLab();
  /** Where the rotation of the fake server stands, and how many looks until its phase holds. */
  let stands: { phase: string; looks: number; ill?: string; stuck?: string; abortedAt?: string };

  const view = () => {
    const { phase, looks, ill, stuck } = stands;
    const isOver = phase === 'retire' && looks <= 0 && stuck !== phase;
    const next = PHASES[(PHASES.indexOf(phase as 'stage') + 1) % PHASES.length];
    const holds = looks <= 0 && ill !== phase && stuck !== phase;
    const waitsFor = holds ? null : stuck === phase ? 'another consumer' : `${looks} looks`;
    return { secret: 'web-db', phase: isOver ? 'idle' : phase, holds, next, waitsFor, secretsVersion: 1 };
  };

  beforeEach(() => {
    stands = { phase: 'idle', looks: 0 };
    lab.api.replies.set(SHOW, () => {
      stands.looks--;
      if (stands.abortedAt === stands.phase) stands = { phase: 'idle', looks: 2 };
      return { status: 200, body: view() };
    });
    lab.api.replies.set(ASK, ({ body }) => {
      stands = { ...stands, phase: (body as { phase: string }).phase, looks: 2 };
      return { status: 200, body: view() };
    });
    lab.api.replies.set('GET /api/v1/deployments/web', () => ({
      status: 200,
      body: { name: 'web', status: { phase: stands.ill === stands.phase ? 'Degraded' : 'Running' } },
    }));
  });

  const moor = (...words: readonly string[]) => lab.moor(['rotate', 'web', ...words], { clock: new LookClock() });
  const asked = () => lab.api.got.filter(({ method }) => method === 'POST').map(({ body }) => body);

  it('shows the state of the rotation', async () => {
    stands = { phase: 'stage', looks: 0 };
    const { code, out } = await moor();
    expect(code).to.equal(0);
    expect(out).to.contain('web-db: stage').and.to.contain('promote');
  });

  it('requests one phase', async () => {
    const { code } = await moor('--phase', 'stage', '--secret', 'web-db');
    expect(code).to.equal(0);
    expect(asked()).to.deep.equal([{ phase: 'stage', secret: 'web-db' }]);
  });

  it('sends the values of a file', async () => {
    const file = join(lab.folder, 'values.yaml');
    writeFileSync(file, 'password: new\n');
    await moor('--phase', 'stage', '--values', file);
    expect(asked()).to.deep.equal([{ phase: 'stage', values: { password: 'new' } }]);
  });

  const unreadable = ['*hunter2', '!!hunter2!', '| hunter2', '"\\hunter2"', '}hunter2', '{a}hunter2', '!<hunter2'];
  for (const text of [...unreadable.map(value => `password: ${value}\n`), '%YAML hunter2\n---\na: b\n']) {
    it(`does not quote a file that it cannot parse: ${JSON.stringify(text)}`, async () => {
      const file = join(lab.folder, 'values.yaml');
      writeFileSync(file, text);
      const { code, out, err } = await moor('--phase', 'stage', '--values', file);
      expect(code).to.equal(2);
      expect(err).to.contain('values.yaml:1:');
      expect(out + err).not.to.contain('hunter');
      expect(asked()).to.deep.equal([]);
    });
  }

  it('with --auto walks through all phases, each when the one before it holds', async () => {
    const { code, out } = await moor('--auto');
    expect(code).to.equal(0);
    expect(asked()).to.deep.equal(PHASES.map(phase => ({ phase })));
    expect(out).to.contain('promote, waiting for').and.to.contain('idle');
  });

  it('with --auto resumes in the current phase', async () => {
    stands = { phase: 'promote', looks: 1 };
    expect((await moor('--auto')).code).to.equal(0);
    expect(asked()).to.deep.equal([{ phase: 'verify' }, { phase: 'retire' }]);
  });

  it('with --auto does not begin a second rotation', async () => {
    stands = { phase: 'retire', looks: 2 };
    expect((await moor('--auto')).code).to.equal(0);
    expect(asked()).to.deep.equal([]);
  });

  it('stops when the deployment is degraded, and says how to abort', async () => {
    stands = { ...stands, ill: 'promote' };
    const { code, err } = await moor('--auto');
    expect(code).to.equal(1);
    expect(err).to.contain('--phase abort');
    expect(asked()).to.deep.equal([{ phase: 'stage' }, { phase: 'promote' }]);
  });

  for (const stuck of ['stage', 'promote', 'retire']) {
    it(`stops when nothing changes in ${stuck}, and says what it waits for`, async () => {
      stands = { ...stands, stuck };
      const { code, err } = await moor('--auto', '--patience', '1s');
      expect(code).to.equal(1);
      expect(err).to.contain('web-db').and.to.contain(stuck).and.to.contain('another consumer');
    });
  }

  it('keeps waiting while something changes', async () => {
    stands = { phase: 'verify', looks: 6 };
    expect((await moor('--auto', '--patience', '1s')).code).to.equal(0);
  });

  for (const abortedAt of ['stage', 'promote', 'verify']) {
    it(`fails when another request aborts the rotation at ${abortedAt}`, async () => {
      stands = { ...stands, abortedAt };
      const { code, err } = await moor('--auto');
      expect(code).to.equal(1);
      expect(err).to.contain('was aborted by another request');
      expect(asked().at(-1)).to.deep.equal({ phase: abortedAt });
    });
  }

  it('fails when another request aborts the rotation and begins a new one', async () => {
    stands = { phase: 'promote', looks: 1 };
    lab.api.replies.set(ASK, () => {
      stands = { phase: 'stage', looks: 1 };
      return { status: 200, body: view() };
    });
    const { code } = await moor('--auto');
    expect(code).to.equal(1);
    expect(asked()).to.deep.equal([{ phase: 'verify' }]);
  });

  it('exits with 5 after the timeout', async () => {
    stands = { phase: 'promote', looks: 1_000 };
    expect((await moor('--auto', '--timeout', '1s')).code).to.equal(5);
  });

  it('prints the rejection of the server', async () => {
    lab.api.replies.set(ASK, replyRefused(409, 'rotation_transition_invalid', 'phase'));
    const { code, err } = await moor('--phase', 'retire');
    expect(code).to.equal(1);
    expect(err).to.contain('rotation_transition_invalid');
  });

  it('refuses --phase together with --auto', async () => {
    expect((await moor('--auto', '--phase', 'stage')).code).to.equal(2);
  });
});
