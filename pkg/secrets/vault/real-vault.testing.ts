import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';

import { request } from 'undici';

import { sleep, systemClock, systemRandom } from '../../clock/index.js';
import { findFreePort } from '../../../dev/processes/index.js';

/** A `bao` or `vault` program: named by the environment, or put into the cache of this repository. */
export const vaultProgram = [process.env['MOORING_BAO'], '.cache/bao'].find(
  path => path !== undefined && existsSync(path),
);

/** Why a test on a real server is skipped. */
export const NO_VAULT = 'skipped: no OpenBao or Vault program in MOORING_BAO or .cache/bao';

const STARTED_WITHIN_MS = 20_000;

/** What the platform may do, as docs/SECRETS.md tells operators. */
const policy = ['deployments', 'resources']
  .flatMap(namespace => [
    `path "mooring/+/data/${namespace}/*" { capabilities = ["create", "read", "update"] }`,
    `path "mooring/+/metadata/${namespace}/*" { capabilities = ["create", "read", "update", "delete", "list"] }`,
    `path "mooring/+/destroy/${namespace}/*" { capabilities = ["update"] }`,
  ])
  .join('\n');

/** A real server of its own on loopback, in memory. */
export class RealVault {
  readonly address: string;
  readonly #root = `root-${systemRandom.uuid()}`;
  readonly #process: ChildProcess;
  #role = { roleId: '', secretId: '' };

  private constructor(program: string, port: number) {
    this.address = `http://127.0.0.1:${port}`;
    const argv = ['server', '-dev', `-dev-root-token-id=${this.#root}`, `-dev-listen-address=127.0.0.1:${port}`];
    this.#process = spawn(program, argv, { stdio: ['pipe', 'ignore', 'ignore'] });
  }

  /** As its operator finds it: nothing is prepared for the platform. */
  static async startEmpty(program: string): Promise<RealVault> {
    const vault = new RealVault(program, await findFreePort());
    await eventually(() => vault.operate('sys/health'));
    return vault;
  }

  /** With a role for the platform. */
  static async start(program: string): Promise<RealVault> {
    const vault = await RealVault.startEmpty(program);
    await vault.operate('sys/policies/acl/mooring', { policy });
    await vault.operate('sys/auth/approle', { type: 'approle' });
    await vault.operate('auth/approle/role/mooring', { token_policies: 'mooring', token_ttl: '20m' });
    const { data } = await vault.operate('auth/approle/role/mooring/role-id');
    const drawn = await vault.operate('auth/approle/role/mooring/secret-id', {});
    vault.#role = { roleId: data!['role_id']!, secretId: drawn.data!['secret_id']! };
    return vault;
  }

  /** What the platform logs in with. */
  get role(): { readonly roleId: string; readonly secretId: string } {
    return this.#role;
  }

  /** With this, its own commands speak to it as root. */
  get environment(): Readonly<Record<string, string>> {
    return { VAULT_ADDR: this.address, VAULT_TOKEN: this.#root };
  }

  /** What an operator does for each tenant. */
  async mount(tenant: string): Promise<void> {
    await this.operate(`sys/mounts/mooring/${tenant}`, { type: 'kv', options: { version: '2' } });
    await this.mounted(tenant);
  }

  /** A mount that was just made is not used at once. */
  mounted(tenant: string): Promise<void> {
    return eventually(() => this.operate(`mooring/${tenant}/config`));
  }

  /** What an operator does, as root. */
  async operate(path: string, body?: object): Promise<{ data?: Record<string, string> }> {
    const answer = await request(`${this.address}/v1/${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'x-vault-token': this.#root },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${path} answered ${answer.statusCode}: ${text}`);
    return (text === '' ? {} : JSON.parse(text)) as { data?: Record<string, string> };
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode === null && this.#process.kill('SIGKILL')) await once(this.#process, 'exit');
  }
}

async function eventually(work: () => Promise<unknown>): Promise<void> {
  const deadline = systemClock.monotonic() + STARTED_WITHIN_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (thrown) {
      if (systemClock.monotonic() > deadline) throw thrown;
      await sleep(systemClock, 100);
    }
  }
}
