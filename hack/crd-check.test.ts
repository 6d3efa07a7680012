import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

const FOLDER = 'crds/manifests';
const BUILT = '.cache/crd-check';
/** What is compiled already is linked in much less. */
const BUILD_MS = 10_000;

interface Ended {
  readonly isDone: boolean;
  readonly said: string;
}

function run(program: string, argv: readonly string[], timeout = 60_000): Promise<Ended> {
  // Without modules of its own Go would fetch them.
  const env = { ...process.env, GOPROXY: 'off', GOFLAGS: '-mod=mod' };
  return new Promise(end => {
    execFile(program, argv, { timeout, env }, (error, out, err) => end({ isDone: !error, said: out + err }));
  });
}

describe('the custom resource definitions', () => {
  it('are accepted by the validation of Kubernetes', async function () {
    const skip = (reason: string) => {
      this.test!.title += ` skipped: ${reason} (make check-crds)`;
      this.skip();
    };
    const folder = await mkdtemp(join(tmpdir(), 'mooring-crds-'));
    try {
      let program = BUILT;
      if (!existsSync(BUILT)) {
        program = join(folder, 'crd-check');
        const { isDone } = await run('go', ['build', '-C', 'hack/crd-check', '-o', program, '.'], BUILD_MS);
        if (!isDone) return skip('Go, or what the check is made of, is not here or not compiled yet');
      }
      const files = (await readdir(FOLDER)).filter(file => file.endsWith('.yaml'));
      expect(files).to.not.have.length(0);
      const { isDone, said } = await run(
        program,
        files.map(file => join(FOLDER, file)),
      );
      expect(isDone, said).to.equal(true);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
