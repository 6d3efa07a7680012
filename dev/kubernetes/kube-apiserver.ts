import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { awaitServing, endProgram, EtcdProcess, findFreePort, runProgram } from '../processes/index.js';
import { askCluster } from './ask.js';

const READY_WITHIN_MS = 240_000;
const ADMIN = 'let-me-in';

/** The kube-apiserver that tests are to run on. Empty: there is none here. */
export const kubeApiserverProgram = process.env['MOORING_KUBE_APISERVER'] ?? '';

/** A kube-apiserver with an etcd of its own, and nothing else of a cluster: no controllers, no scheduler, no kubelet. */
export class KubeApiserver {
  /** Of one who may do everything. */
  readonly token = ADMIN;
  url = '';
  readonly #folder = mkdtempSync(join(tmpdir(), 'moor-'));
  readonly #users: Readonly<Record<string, string>>;
  #etcd: EtcdProcess | undefined;
  #server: ChildProcess | undefined;
  #flags: Readonly<Record<string, string>> = {};

  /** Further users, by token: `system:serviceaccount:<namespace>:<name>` is who a role of a guide is bound to. */
  constructor(users: Readonly<Record<string, string>> = {}) {
    this.#users = users;
  }

  async start(): Promise<this> {
    this.#etcd = await EtcdProcess.start({ dataDir: join(this.#folder, 'etcd') });
    const port = await findFreePort();
    this.url = `https://127.0.0.1:${port}`;
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const keyFile = this.#write('sa.key', key.export({ type: 'pkcs1', format: 'pem' }) as string);
    const users = Object.entries(this.#users).map(([token, user], at) => `${token},${user},${at + 2}\n`);
    this.#flags = {
      'etcd-servers': this.#etcd.endpoint,
      'bind-address': '127.0.0.1',
      'advertise-address': '127.0.0.1',
      'secure-port': String(port),
      'cert-dir': join(this.#folder, 'certificates'),
      'service-cluster-ip-range': '10.96.0.0/24',
      'service-account-issuer': 'https://mooring.test',
      'service-account-key-file': keyFile,
      'service-account-signing-key-file': keyFile,
      'token-auth-file': this.#write('tokens.csv', [`${ADMIN},tester,1,system:masters\n`, ...users].join('')),
      'authorization-mode': 'RBAC',
      'disable-admission-plugins': 'ServiceAccount',
    };
    await this.restart();
    return this;
  }

  /** Ends it without notice. What it has stored stays. */
  async kill(): Promise<void> {
    if (this.#server) await endProgram(this.#server, 'SIGKILL');
  }

  /** Starts it again at the same address, and waits until it serves. */
  async restart(): Promise<void> {
    await this.kill();
    const logFile = join(this.#folder, 'kube-apiserver.log');
    const argv = Object.entries(this.#flags).map(([name, value]) => `--${name}=${value}`);
    const server = runProgram(kubeApiserverProgram, argv, { logFile, detached: false });
    this.#server = server;
    const end = () => server.kill('SIGKILL');
    process.once('exit', end);
    server.once('exit', () => process.off('exit', end));
    const serves = () => askCluster(this, 'GET', '/readyz').then(isFound, () => false);
    await awaitServing(server, serves, { withinMs: READY_WITHIN_MS, logFile });
  }

  async stop(): Promise<void> {
    await this.kill();
    await this.#etcd?.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #write(name: string, content: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  }
}

function isFound({ status }: { readonly status: number }): boolean {
  return status === 200;
}
