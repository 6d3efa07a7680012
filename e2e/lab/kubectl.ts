import { execFile, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { CertificateFolder } from '../../pkg/certificates/index.js';
import type { Settings } from '../../pkg/config/index.js';
import { runMoor } from './moor.js';

const PATIENCE_MS = 240_000;

/** What a command came to. */
export interface KubectlResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A command that goes on until it is ended. */
export interface RunningKubectl {
  readonly printed: string;
  /** Undefined while it runs, null when a signal has ended it. */
  readonly code: number | null | undefined;
  end(): void;
}

/** The kubectl of this machine, or the one that the setting names; undefined when there is none. */
export function findKubectl(): string | undefined {
  const path = process.env['MOORING_KUBECTL'] ?? '/usr/bin/kubectl';
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    return undefined;
  }
}

/** kubectl, or another program that reads KUBECONFIG, with a home folder of its own, for one token of a server that answers TLS. */
export class Kubectl {
  readonly path: string;
  readonly folder: string;
  readonly #caFile: string;

  private constructor(path: string, folder: string, caFile: string) {
    this.path = path;
    this.folder = folder;
    this.#caFile = caFile;
  }

  /** Makes the certificate that a server is to have: its settings are in the answer. */
  static async prepare(path: string): Promise<{ kubectl: Kubectl; settings: Partial<Settings> }> {
    const folder = await mkdtemp(join(tmpdir(), 'mooring-kubectl-'));
    const authority = new CertificateFolder({ folder: join(folder, 'tls'), authorityName: 'mooring', now: Date.now });
    const { ca, cert, key } = authority.ensure('server', ['127.0.0.1', 'localhost'], ['server']);
    const settings = { tlsCertFile: cert, tlsKeyFile: key, tlsCaFile: ca, plainHttp: true };
    return { kubectl: new Kubectl(path, folder, ca), settings };
  }

  /** Has `moor kubeconfig` write the configuration for a token, by a name. */
  async configure(name: string, server: string, token: string, ...argv: readonly string[]): Promise<void> {
    const { status, stdout, stderr } = await runMoor(
      { server },
      { token },
      '--ca-file',
      this.#caFile,
      ...argv,
      'kubeconfig',
    );
    if (status !== 0) throw new Error(`moor kubeconfig: ${stderr}`);
    await this.write(name, stdout);
  }

  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.folder, name), text, { mode: 0o600 });
  }

  read(name: string): Promise<string> {
    return readFile(join(this.folder, name), 'utf8');
  }

  /** Runs a command with the configuration of that name. */
  run(config: string, argv: readonly string[], editor?: string): Promise<KubectlResult> {
    const options = { ...this.#options(config, editor), timeout: PATIENCE_MS };
    return new Promise(end => {
      execFile(this.path, argv, options, (error, out, err) =>
        end({ code: error ? Number(error.code ?? 1) : 0, out, err }),
      );
    });
  }

  /** Starts a command that goes on until it is ended. */
  start(config: string, argv: readonly string[]): RunningKubectl {
    const child = spawn(this.path, argv, this.#options(config));
    const running = {
      printed: '',
      code: undefined as RunningKubectl['code'],
      end: () => void child.kill('SIGTERM'),
    };
    child.once('exit', code => {
      running.code = code;
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        running.printed += chunk.toString('utf8');
      });
    }
    return running;
  }

  #options(config: string, editor = 'true') {
    const environment = { HOME: this.folder, KUBECONFIG: join(this.folder, config), KUBE_EDITOR: editor };
    return { env: { PATH: process.env['PATH'], ...environment }, cwd: this.folder };
  }

  async stop(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
