import { type ChildProcess, execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { RegistryLogin } from '../../pkg/registry/index.js';
import { ProcessStartFault } from './faults.js';
import { findFreePort } from './free-port.js';
import { ownsPort } from './port-owner.js';
import { awaitServing, endProgram, runProgram } from './program.js';

const SERVES_WITHIN_MS = 20_000;
const PORT_ATTEMPTS = 5;

export interface RegistryOptions {
  /** Images are kept in here. */
  readonly folder: string;
  /** Default: a free one. It stays the same over restarts. */
  readonly port?: number;
  /** Who may use it, in the terms of its own configuration. Default: everyone. */
  readonly auth?: Readonly<Record<string, unknown>>;
  /** The one user that is let in, instead of `auth`. */
  readonly login?: RegistryLogin;
  /** Files of a certificate and of its key. Default: it speaks without TLS. */
  readonly tls?: { readonly certificate: string; readonly key: string };
  /** Lets the registry outlive this process. */
  readonly detached?: boolean;
}

/** An image registry on loopback: Debian's `docker-registry`. Engines trust loopback without TLS. */
export class RegistryProcess {
  readonly #options: RegistryOptions;
  #port: number;
  #child: ChildProcess | undefined;

  private constructor(options: RegistryOptions) {
    this.#options = options;
    this.#port = options.port ?? 0;
  }

  /** Starts the registry and waits until it serves. */
  static async start(options: RegistryOptions): Promise<RegistryProcess> {
    const registry = new RegistryProcess(options);
    await registry.restart();
    return registry;
  }

  /** What images in it are named after: `127.0.0.1:<port>`. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get logFile(): string {
    return join(this.#options.folder, 'registry.log');
  }

  /** Starts it again on the same images and the same port, after `kill`. */
  async restart(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const chosen = this.#port === 0;
      this.#port ||= await findFreePort();
      try {
        await this.#launch();
        return;
      } catch (thrown) {
        await this.kill('SIGKILL');
        if (!chosen || attempt === PORT_ATTEMPTS) throw thrown;
        this.#port = 0;
      }
    }
  }

  /** Ends the process and waits until it is gone. */
  async kill(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#child) await endProgram(this.#child, signal);
  }

  async #launch(): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true });
    const { folder, auth = await this.#createUsers(), tls, detached = false } = this.#options;
    const settings = join(folder, 'registry.yml');
    // JSON is YAML.
    await writeFile(
      settings,
      JSON.stringify({
        version: 0.1,
        log: { level: 'warn' },
        storage: { filesystem: { rootdirectory: join(folder, 'images') }, delete: { enabled: true } },
        http: { addr: this.address, ...(tls && { tls }) },
        ...(auth && { auth }),
      }),
    );
    const child = runProgram('docker-registry', ['serve', settings], { logFile: this.logFile, detached });
    this.#child = child;
    const limits = { withinMs: SERVES_WITHIN_MS, logFile: this.logFile };
    await awaitServing(child, () => this.#serves(child), limits);
  }

  /** The configuration for `login`. The registry takes passwords hashed with bcrypt only. */
  async #createUsers(): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { folder, login } = this.#options;
    if (!login) return undefined;
    const path = join(folder, 'users');
    await writeFile(path, `${login.username}:${hashPassword(login.password)}\n`, { mode: 0o600 });
    return { htpasswd: { realm: 'mooring', path } };
  }

  async #serves({ pid }: ChildProcess): Promise<boolean> {
    if (pid === undefined || !(await ownsPort(pid, this.#port))) return false;
    if (this.#options.tls) return true;
    try {
      const { status } = await fetch(`http://${this.address}/v2/`, { signal: AbortSignal.timeout(1_000) });
      return status === (this.#options.auth || this.#options.login ? 401 : 200);
    } catch {
      return false; // nothing listens yet
    }
  }
}

const SALT_LETTERS = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** What `htpasswd -B` writes. Perl is part of every Debian, and asks the library that the system itself hashes with. */
function hashPassword(password: string): string {
  const letters = Array.from({ length: 21 }, () => SALT_LETTERS[randomInt(SALT_LETTERS.length)]);
  const script = 'local $/; print crypt(<STDIN>, $ARGV[0])';
  const argv = ['-e', script, `$2y$05$${letters.join('')}u`];
  const hash = execFileSync('perl', argv, { input: password, encoding: 'utf8', env: {} });
  if (/^\$2y\$05\$[\w./]{53}$/.test(hash)) return hash;
  throw new ProcessStartFault('perl hashed no password with bcrypt: install perl-base and libcrypt1');
}
