import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { lookup } from 'node:dns/promises';
import http from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import type { Settings } from '../../config/index.js';
import { asError } from '../../fault/index.js';
import type {
  CertificateObservation,
  DiskObservation,
  FirewallObservation,
  Observations,
  PortObservation,
  Observation,
} from './observations.js';

const ANSWER_WITHIN_MS = 3_000;

/** Whether an address is of the machine that this runs on. */
export async function isThisMachine({ hostname }: URL): Promise<boolean> {
  const own = Object.values(networkInterfaces()).flatMap(each => (each ?? []).map(({ address }) => address));
  const found = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true }).catch(() => []);
  return found.some(({ address }) => address.startsWith('127.') || own.includes(address));
}

/** Runs a look that may fail. */
export async function observe<Value>(look: () => Value | Promise<Value>): Promise<Observation<Value>> {
  try {
    return { value: await look() };
  } catch (thrown) {
    return { fault: describe(asError(thrown)) };
  }
}

/** What is at the bottom of an error: the reasons above it are printed already. */
function describe(error: Error): string {
  if (error.cause instanceof Error) return describe(error.cause);
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}

/** Where the engine of this machine is: as it is named, the one of `moor up` in this home, or the usual one. */
export function findEngineHost(
  named: string | undefined,
  home: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  if (named !== undefined) return named;
  try {
    const record = JSON.parse(readFileSync(join(home, 'run', 'part-dockerd.json'), 'utf8')) as {
      readonly facts?: { readonly docker?: string };
    };
    if (record.facts?.docker !== undefined) return record.facts.docker;
  } catch {
    // `moor up` has started no engine here.
  }
  return environment['DOCKER_HOST'] || 'unix:///var/run/docker.sock';
}

export async function observeEngine(host: string): Promise<Observations['engine']> {
  const socketPath = host.startsWith('unix://') ? host.slice('unix://'.length) : undefined;
  if (socketPath !== undefined && !existsSync(socketPath))
    return { host, fault: 'there is no such socket', isAbsent: true };
  const ask = async (path: string) =>
    JSON.parse(
      await fetchText(socketPath === undefined ? new URL(path, host.replace(/^tcp:/, 'http:')) : path, socketPath),
    );
  const seen = await observe(async () => {
    const version = (await ask('/version')) as { readonly Version?: string; readonly ApiVersion?: string };
    const info = (await ask('/info')) as { readonly Warnings?: readonly string[] | null };
    return { version: String(version.Version), apiVersion: String(version.ApiVersion), warnings: info.Warnings ?? [] };
  });
  return { host, ...seen };
}

function fetchText(target: URL | string, socketPath: string | undefined): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const answered = (answer: http.IncomingMessage) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('error', reject);
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(chunks).toString('utf8'));
        else reject(new Error(`it answers with the status ${answer.statusCode}`));
      });
    };
    const request =
      typeof target === 'string'
        ? http.get({ socketPath, path: target, signal, agent: false }, answered)
        : http.get(target, { signal, agent: false }, answered);
    request.once('error', reject);
  });
}

/** The certificates that the settings name, as files of this machine. */
export async function observeCertificateFiles(settings: Settings): Promise<readonly CertificateObservation[]> {
  const files: readonly (readonly [string, string, string])[] = [
    [
      'the certificate of the API server',
      settings.tlsCertFile,
      'issue a new one into this file; the server reads it again',
    ],
    ['the authority of the API server', settings.tlsCaFile, 'issue a new one, and enrol agents again'],
    ['the client certificate for etcd', settings.etcdCertFile, 'issue a new one into this file'],
    ['the authority of etcd', settings.etcdCaFile, 'issue a new one for every member and client'],
  ];
  const named = files.filter(([, path]) => path !== '');
  return Promise.all(
    named.map(async ([what, path, remedy]) => {
      const seen = await observe(() => new X509Certificate(readFileSync(path)));
      const subject = `${what} (${path})`;
      if (seen.value === undefined) return { subject, validUntil: { fault: seen.fault }, remedy };
      const { validFrom, validTo } = seen.value;
      return { subject, validUntil: { value: Date.parse(validTo) }, validFrom: Date.parse(validFrom), remedy };
    }),
  );
}

export async function observeDisk(path: string): Promise<DiskObservation> {
  let folder = path;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  const space = await observe(() => {
    const { bavail, blocks, bsize } = statfsSync(folder);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  });
  return { path: folder, space };
}

export async function observePort(
  owner: string,
  address: URL,
  { isPlain }: { readonly isPlain: boolean },
): Promise<PortObservation> {
  const host = address.hostname.replace(/^\[|\]$/g, '');
  const port = Number(address.port || (address.protocol === 'https:' ? 443 : 80));
  const isOpen = await new Promise<boolean>(resolve => {
    const socket = connect({ host, port, timeout: ANSWER_WITHIN_MS });
    const settle = (isReached: boolean) => {
      socket.destroy();
      resolve(isReached);
    };
    socket.once('connect', () => settle(true));
    socket.once('timeout', () => settle(false));
    socket.once('error', () => settle(false));
  });
  const isLocal = /^(127\.|::1$|localhost$)/.test(host);
  return { owner, address: address.host, isOpen, isExposed: isPlain && !isLocal };
}

export async function observeFirewall(): Promise<FirewallObservation> {
  const forward = await observe(() => readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8').trim() === '1');
  const PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;
  const rules = await observe(async () => {
    const options = { timeout: ANSWER_WITHIN_MS, env: { ...process.env, PATH } };
    return (await promisify(execFile)('iptables', ['-w', '2', '-S', 'FORWARD'], options)).stdout;
  });
  return { forwards: forward.value, rules };
}
