import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Kind } from '../../crds/kind/index.js';
import { createTestTerminal, type TestTerminal } from '../terminal/terminal.testing.js';
import { FakeApi } from './fake-api.testing.js';
import { run } from './run.js';

/** What a command has ended with and printed. */
interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The command `moor` with a fake API server and a home folder of its own, both new for each test. */
export class CommandLab {
  api!: FakeApi;
  folder!: string;
  /** What it signs in with. */
  readonly token: string;
  readonly #kinds: readonly Kind[] | undefined;

  constructor(token: string, kinds?: readonly Kind[]) {
    this.token = token;
    this.#kinds = kinds;
  }

  createTerminal(more: Partial<TestTerminal> = {}): TestTerminal {
    const { folder, token } = this;
    const home = { HOME: folder, MOORING_HOME: folder };
    return createTestTerminal({ MOORING_SERVER: this.api.address, MOORING_TOKEN: token, ...home }, more);
  }

  async moor(words: readonly string[], more: Partial<TestTerminal> = {}): Promise<CommandResult> {
    const terminal = this.createTerminal(more);
    return { code: await run(words, terminal, this.#kinds), ...terminal.printed };
  }
}

interface CommandLabOptions {
  readonly token?: string;
  /** Kinds to know instead of those of this release. */
  readonly kinds?: readonly Kind[];
}

/** Sets up a lab for each test of the `describe` that calls it. */
export function useCommandLab({ token = 'mtk_t', kinds }: CommandLabOptions = {}): CommandLab {
  const lab = new CommandLab(token, kinds);
  beforeEach(async () => {
    lab.api = await FakeApi.start();
    lab.folder = mkdtempSync(join(tmpdir(), 'moor-cli-'));
  });
  afterEach(async () => {
    await lab.api.stop();
    rmSync(lab.folder, { recursive: true });
  });
  return lab;
}
