import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { skip } from '../dev/testing/index.js';
import { clone } from '../pkg/version/index.js';
import { makeFolder } from './home/home-fault.js';
import { findStrays } from './machine/os-process.js';

const moorPath = join(clone, 'moor');
const NOBODY = 65_534;
const itAsRoot = (title: string, test: Mocha.AsyncFunc) =>
  process.getuid?.() === 0 ? it(title, test) : it.skip(`${title} (run the tests as root)`);
/** Of a test that starts `moor` as another user, who may not be let into a clone below the home of root. */
const itAsNobody = (title: string, test: Mocha.AsyncFunc) => {
  const isKept = process.getuid?.() === 0 && spawnSync('test', ['-x', moorPath], { uid: NOBODY }).status !== 0;
  return isKept ? it.skip(`${title} (${clone} is in a folder that others may not enter)`) : itAsRoot(title, test);
};

/** How `moor up` ended: one that spins or waits for ever is found by the time limit of the test. */
interface Ending {
  readonly code: number | null;
  readonly err: string;
}

describe('moor up on a home that cannot be used', function () {
  this.timeout(120_000);

  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'moor-broken-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const up = async (home: string, { engine = 'simulated', uid = process.getuid?.() ?? 0 } = {}): Promise<Ending> => {
    const env = { ...process.env, MOORING_HOME: home, DOCKER_HOST: `unix://${join(folder, 'no-engine')}` };
    const child = spawn(moorPath, ['up', '--no-demo', '--engine', engine], {
      env,
      uid,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let err = '';
    child.stderr.on('data', text => (err += text));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, err };
  };
  const expectOneLine = async (home: string, ending: Promise<Ending>, message: RegExp) => {
    const { code, err } = await ending;
    expect(err)
      .to.match(/^moor: [^\n]+\n$/)
      .and.to.match(message);
    expect(code).to.equal(1);
    expect(findStrays(home, [])).to.deep.equal([]);
  };

  it('ends with the remedy where the file system takes no folders', async () => {
    await expectOneLine(
      '/proc/mooring/home',
      up('/proc/mooring/home'),
      /\/proc\/mooring cannot be created .* MOORING_HOME/,
    );
  });

  it('ends with the remedy where a file is in the way', async () => {
    writeFileSync(join(folder, 'file'), '');
    const home = join(folder, 'file', 'home');

    await expectOneLine(home, up(home), /cannot be created .* set MOORING_HOME to a folder that can be written/);
  });

  it('ends with the remedy when its plan is damaged', async () => {
    for (const text of ['{"nodes": 1, "eng', '{"nodes": "many", "engine": "docker"}']) {
      writeFileSync(join(folder, 'plan.json'), text);
      await expectOneLine(folder, up(folder), /plan\.json is damaged: remove it, and run "moor up --nodes <count>"/);
    }
  });

  it('ends with the remedy when its tokens are damaged', async () => {
    writeFileSync(join(folder, 'tokens.json'), '{"adminTok');

    await expectOneLine(folder, up(folder), /tokens\.json is damaged: remove it, and run "moor up"/);
  });

  itAsRoot('ends with the remedy when the disk is full', async function () {
    const home = join(folder, 'small');
    mkdirSync(home);
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', home]).status !== 0) {
      skip(this, 'no file system can be mounted here: run the tests with CAP_SYS_ADMIN');
    }
    try {
      await expectOneLine(
        home,
        up(home),
        /has .* of free disk space and needs 256[^:]*: free some space, or set MOORING_HOME/,
      );
      spawnSync('dd', ['if=/dev/zero', `of=${join(home, 'fill')}`, 'bs=4k'], { stdio: 'ignore' });
      await expectOneLine(home, up(home), /the disk of .* is full: free some space, or set MOORING_HOME/);
      expect(readdirSync(home).filter(name => name.includes('.new') || name.includes('probe'))).to.deep.equal([]);
    } finally {
      execFileSync('umount', [home]);
    }
  });

  itAsNobody('ends with the remedy when another user owns it', async () => {
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'home'), { mode: 0o700 });
    const home = join(folder, 'home');

    await expectOneLine(
      home,
      up(home, { uid: NOBODY }),
      /this user may not write .*: run moor as the user it belongs to/,
    );
  });

  itAsNobody('ends with the remedy when no engine answers and the user is not root', async () => {
    chmodSync(folder, 0o777);
    const home = join(folder, 'home');

    const ending = up(home, { engine: 'docker', uid: NOBODY });
    await expectOneLine(home, ending, /no container engine answers, and only root can start one: start Docker/);
    expect(existsSync(join(home, 'plan.json'))).to.equal(false);
  });
});

describe('makeFolder', () => {
  it('makes every folder that is missing, and fails where one cannot be made', () => {
    const folder = mkdtempSync(join(tmpdir(), 'moor-folder-'));
    makeFolder(join(folder, 'a', 'b'));
    makeFolder(join(folder, 'a', 'b'));

    expect(existsSync(join(folder, 'a', 'b'))).to.equal(true);
    expect(() => makeFolder('/proc/a/b')).to.throw('ENOENT');
    rmSync(folder, { recursive: true });
  });
});
