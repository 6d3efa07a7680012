import { existsSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';

import type { Client } from '../../client/index.js';
import { loadSettings, type Settings, settingsTable } from '../../config/index.js';
import { silentLogger } from '../../log/index.js';
import { openEtcdStore } from '../../store/index.js';
import { UsageFault, findHomeFolder } from '../../terminal/index.js';
import { findKind } from '../kinds.js';
import type { Session } from '../session.js';
import type { NodeView } from '../../../crds/node/index.js';
import {
  findEngineHost,
  isThisMachine,
  observeCertificateFiles,
  observeDisk,
  observeEngine,
  observeFirewall,
  observePort,
  observe,
} from './observe-machine.js';
import type {
  CertificateObservation,
  EtcdObservation,
  HealthView,
  Observations,
  PortObservation,
  Observation,
  ServerObservation,
} from './observations.js';

export interface ObservationOptions {
  /** File with the settings of the servers. */
  readonly config?: string;
  readonly dockerHost?: string;
}

const ANSWER_WITHIN_MS = 5_000;

/** Looks at everything. Whatever cannot be looked at is an observation too: nothing here throws but for a wrong --config. */
export async function collectObservations(
  session: Session,
  { config, dockerHost }: ObservationOptions,
): Promise<Observations> {
  const { environment } = session.terminal;
  const home = findHomeFolder(environment);
  const { value: address, fault } = await findAddress(session);
  const [{ server, certificates }, settings] = await Promise.all([
    observeServer(session, address, fault),
    findSettings(session, config, address),
  ]);
  const [etcd, nodes, engine, files, disk, ports, firewall] = await Promise.all([
    observeEtcd(session, settings),
    observeNodes(session, address !== undefined),
    observeEngine(findEngineHost(dockerHost, home, environment)),
    settings ? observeCertificateFiles(settings) : [],
    observeDisk(home),
    observePorts(address, settings),
    observeFirewall(),
  ]);
  return { server, etcd, nodes, engine, certificates: [...certificates, ...files], disks: [disk], ports, firewall };
}

/** The server that other commands would use, or why they would use none: not only because none is named. */
async function findAddress(session: Session): Promise<Observation<URL>> {
  try {
    return { value: new URL((await session.findConnection()).server) };
  } catch (thrown) {
    if (thrown instanceof UsageFault) return { fault: thrown.message };
    throw thrown;
  }
}

/** Those of a file that is named, those that the server in use shows an administrator, or those of `moor up`. */
async function findSettings(
  session: Session,
  file: string | undefined,
  address: URL | undefined,
): Promise<Settings | undefined> {
  const { environment } = session.terminal;
  if (file !== undefined || environment['MOORING_CONFIG']) return loadSettings({ environment, file }).settings;
  // Its files and addresses are of use only where they are its own: on another machine all of them would seem to be missing.
  if (!address || !(await isThisMachine(address))) return undefined;
  const running = await observe(async () => {
    const client = await session.connect('platform');
    const answer = await client.request<{ readonly settings: Settings }>('GET', '/api/v1/config');
    return answer.ok ? answer.value.settings : undefined;
  });
  // A server of another release may know other settings.
  const defaults = Object.fromEntries(Object.entries(settingsTable).map(([key, row]) => [key, row.default]));
  if (running.value) return { ...defaults, ...running.value } as Settings;
  // A server that has lost etcd does not show its settings.
  const ownFile = join(findHomeFolder(environment), 'settings.json');
  const { origin } = await session.findConnection();
  return origin === 'development' && existsSync(ownFile)
    ? loadSettings({ environment, file: ownFile }).settings
    : undefined;
}

interface ObservedServer {
  readonly server: ServerObservation;
  readonly certificates: readonly CertificateObservation[];
}

/** Without a token: the certificate is looked at whether it can be trusted or not. */
async function observeServer({ terminal }: Session, address: URL | undefined, fault = ''): Promise<ObservedServer> {
  if (!address) return { server: { address: undefined, health: { fault } }, certificates: [] };
  const { clock } = terminal;
  const began = clock.now();
  const seen = await observe(() => fetchHealth(address));
  const took = clock.now() - began;
  if (seen.value === undefined) return { server: { address: address.origin, health: seen }, certificates: [] };
  const { health, date, validUntil } = seen.value;
  // The header has whole seconds, cut off.
  const ahead = date === undefined ? Number.NaN : Date.parse(date) + 500 - (began + took / 2);
  const server: ServerObservation = {
    address: address.origin,
    health: { value: health },
    ...(Number.isFinite(ahead) && { clock: { aheadMs: ahead, uncertainMs: 500 + took / 2 } }),
  };
  const remedy = 'issue a new one; the server reads its files again by itself';
  const subject = `the certificate that ${address.host} shows`;
  const certificates =
    validUntil === undefined ? [] : [{ subject, validUntil: { value: Date.parse(validUntil) }, remedy }];
  return { server, certificates };
}

interface HealthAnswer {
  readonly health: HealthView;
  readonly date: string | undefined;
  readonly validUntil: string | undefined;
}

function fetchHealth(address: URL): Promise<HealthAnswer> {
  const isSecure = address.protocol === 'https:';
  const options = { signal: AbortSignal.timeout(ANSWER_WITHIN_MS), agent: false, rejectUnauthorized: false } as const;
  return new Promise((resolve, reject) => {
    const answered = (answer: http.IncomingMessage) => {
      const validUntil = isSecure ? (answer.socket as TLSSocket).getPeerCertificate().valid_to : undefined;
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('error', reject);
      answer.once('end', () => {
        const health = readHealth(Buffer.concat(chunks).toString('utf8'));
        if (health) resolve({ health, date: answer.headers.date, validUntil });
        else reject(new Error('what answers there is not Mooring: another program has the port'));
      });
    };
    const url = new URL('/healthz', address);
    (isSecure ? https.get(url, options, answered) : http.get(url, options, answered)).once('error', reject);
  });
}

function readHealth(text: string): HealthView | undefined {
  try {
    const health = JSON.parse(text) as Partial<HealthView> | null;
    const isSound = typeof health?.store === 'object' && typeof health.controllers === 'object';
    return isSound ? (health as HealthView) : undefined;
  } catch {
    return undefined;
  }
}

async function observeEtcd({ terminal }: Session, settings: Settings | undefined): Promise<EtcdObservation> {
  if (!settings)
    return {
      members: [],
      quotaBytes: 0,
      skipped: 'the settings of the server are not known here, or it is another machine: etcd was not asked',
    };
  if (settings.etcdEndpoints.length === 0) return { members: [], quotaBytes: 0, isInMemory: true };
  const members = settings.etcdEndpoints.map(async endpoint => {
    const seen = await observe(async () => {
      const store = openEtcdStore({ ...settings, etcdEndpoints: [endpoint] }, { ...terminal, log: silentLogger });
      try {
        return await store.inspect();
      } finally {
        await store.close();
      }
    });
    return { endpoint, ...seen };
  });
  return { members: await Promise.all(members), quotaBytes: settings.etcdQuotaBytes };
}

async function observeNodes(session: Session, hasServer: boolean): Promise<Observations['nodes']> {
  if (!hasServer) return { fault: 'no server was asked, so no node is known' };
  const seen = await observe(async () => {
    const client: Client = await session.connect();
    return client.all<NodeView>(findKind('nodes').path);
  });
  if (seen.value === undefined) return seen;
  if (seen.value.ok) return { value: seen.value.value.items };
  const [{ code, why }] = seen.value.rejections;
  return { fault: why, ...(code === 'auth_invalid' && { isTokenRefused: true as const }) };
}

async function observePorts(
  address: URL | undefined,
  settings: Settings | undefined,
): Promise<readonly PortObservation[]> {
  const observed: Promise<PortObservation>[] = [];
  if (address) observed.push(observePort('the API server', address, { isPlain: address.protocol === 'http:' }));
  for (const endpoint of (settings?.etcdEndpoints ?? []).filter(text => URL.canParse(text))) {
    const url = new URL(endpoint);
    observed.push(observePort('etcd', url, { isPlain: url.protocol === 'http:' }));
  }
  return Promise.all(observed);
}
