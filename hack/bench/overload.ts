import { generateKeyPairSync, sign } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import { ControlPlane } from '../../e2e/lab/control-plane.js';
import { requestJoinToken, TenantClient } from '../../e2e/lab/tenant-client.js';
import { formatAgentRun, formatEnrolmentText, HttpLink } from '../../pkg/link/index.js';
import { readProcessMemory } from './memory.js';
import type { BenchResult } from './report.js';
import { type LoadResult, median, ratio } from './rounds.js';
import { untilQuiet } from './quiet.js';
import { runWrk } from './wrk.js';

const SECONDS = Number(process.env['OVERLOAD_SECONDS'] ?? 60);
const WARM_SECONDS = 6;
const UNLOADED_SECONDS = 8;
const LIGHT_SECONDS = 4;
/** What saturates one server, and how many times that is sent. */
const CONNECTIONS = 64;
const FACTOR = 5;
const LIGHT_CONNECTIONS = 2;
const REST_MS = 10_000;
const NODES = 20;
const HEARTBEAT_MS = 1_000;
const MIB = 1 << 20;
const SETTINGS = {
  MOORING_RATE_LIMIT_PER_SECOND: '1000000000',
  MOORING_RATE_LIMIT_BURST: '1000000000',
  MOORING_REGISTRY_CHECK: 'false',
  MOORING_LOG_LEVEL: 'warn',
};
const DEPLOYMENTS = Array.from({ length: 64 }, (_, n) => `d${n}`);
const IDLE = { image: 'registry.example.com/a/b:1', replicas: 0 };
const BEAT = { labels: {}, capacity: { cpu: 1, memory: 1, disk: 1 }, agentVersion: 'bench' };

interface OverloadRound {
  readonly unloaded: number;
  readonly answered: number;
  readonly refused: number;
  readonly beats: readonly (number | undefined)[];
  readonly memoryBefore: number;
  readonly memoryPeak: number;
  readonly latencyBefore: number;
  readonly latencyAfter: number;
}

/** W19: five times the load that one server carries, on real etcd, with agents beside it. */
export async function measureOverload(rounds: number): Promise<BenchResult[]> {
  const found: OverloadRound[] = [];
  for (let round = 0; round < rounds; round++) {
    await untilQuiet();
    found.push(await playRound());
  }
  const row = (workload: string, what: string, cells: readonly (readonly [number, number])[]) => ({
    workload,
    what,
    ratio: ratio(
      cells.map(([ours]) => ours),
      cells.map(([, peer]) => peer),
    ),
  });
  const middle = (pick: (round: OverloadRound) => number) => median(found.map(pick)).toFixed(0);
  const kept = found.map(({ beats }) => [beats.filter(ms => ms !== undefined).length, beats.length] as const);
  const slowest = Math.max(...found.flatMap(({ beats }) => beats.map(ms => ms ?? Number.POSITIVE_INFINITY)));
  return [
    {
      ...row(
        'W19',
        `requests answered a second under ${FACTOR} times the load, ${SECONDS} s, over the unloaded rate`,
        found.map(({ answered, unloaded }) => [answered, unloaded]),
      ),
      floor: 0.8,
      target: 0.95,
      larger: true,
      figures: `${middle(round => round.answered)}/s against ${middle(round => round.unloaded)}/s; ${middle(round => round.refused)}/s refused`,
    },
    {
      ...row('W19b', `heartbeats of ${NODES} nodes that were kept meanwhile`, kept),
      floor: 1,
      target: 1,
      larger: true,
      figures: `${kept.map(([ok, sent]) => `${ok} of ${sent}`).join(', ')}; the slowest took ${slowest.toFixed(0)} ms`,
    },
    {
      ...row(
        'W19c',
        'peak of resident memory under that load, over memory after the unloaded one',
        found.map(({ memoryPeak, memoryBefore }) => [memoryPeak, memoryBefore]),
      ),
      floor: 2,
      target: 1.3,
      larger: false,
      figures: `${middle(round => round.memoryPeak / MIB)} MiB against ${middle(round => round.memoryBefore / MIB)} MiB`,
    },
    {
      ...row(
        'W19d',
        'p50 of a light load 10 s later, over the same before',
        found.map(({ latencyAfter, latencyBefore }) => [latencyAfter, latencyBefore]),
      ),
      floor: 1.3,
      target: 1.05,
      larger: false,
      figures: found
        .map(each => `${each.latencyAfter.toFixed(2)} against ${each.latencyBefore.toFixed(2)} ms`)
        .join(', '),
    },
  ];
}

async function playRound(): Promise<OverloadRound> {
  const plane = await ControlPlane.start(SETTINGS);
  try {
    await plane.controllers.kill('SIGKILL');
    const tenants = await Promise.all(Array.from({ length: FACTOR }, (_, n) => TenantClient.open(plane, `load-${n}`)));
    const tokens = tenants.map(({ token }) => token);
    for (const tenant of tenants) await Promise.all(DEPLOYMENTS.map(name => tenant.apply({ name, ...IDLE })));
    const links = await Promise.all(
      Array.from({ length: NODES }, (_, n) => enrolNode(plane, tenants[n % FACTOR]!, `node-${n}`)),
    );
    const ask = (token: string, connections: number, seconds: number) =>
      runWrk({ url: plane.server, connections, seconds, script: 'hack/bench/overload.lua', arguments: [token] });

    await ask(tokens[0]!, CONNECTIONS, WARM_SECONDS);
    const before = await ask(tokens[0]!, LIGHT_CONNECTIONS, LIGHT_SECONDS);
    const unloaded = await ask(tokens[0]!, CONNECTIONS, UNLOADED_SECONDS);
    const memoryBefore = readProcessMemory(plane.api.pid, 'VmRSS');

    const beats = sendHeartbeats(links);
    const loads = await Promise.all(tokens.map(token => ask(token, CONNECTIONS, SECONDS)));
    const sent = await beats.stop();
    const memoryPeak = readProcessMemory(plane.api.pid, 'VmHWM');
    await pause(REST_MS);
    const after = await ask(tokens[0]!, LIGHT_CONNECTIONS, LIGHT_SECONDS);
    for (const link of links) await link.close();
    return {
      unloaded: countAnswered(unloaded, UNLOADED_SECONDS),
      answered: sum(loads.map(load => countAnswered(load, SECONDS))),
      refused: sum(loads.map(load => load.failures / SECONDS)),
      beats: sent,
      memoryBefore,
      memoryPeak,
      latencyBefore: before.p50,
      latencyAfter: after.p50,
    };
  } finally {
    await plane.stop();
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

function countAnswered({ perSecond, failures }: LoadResult, seconds: number): number {
  return perSecond - failures / seconds;
}

async function enrolNode(plane: ControlPlane, { client }: TenantClient, nodeName: string): Promise<HttpLink> {
  const token = await requestJoinToken(client);
  const keys = generateKeyPairSync('ed25519');
  const publicKey = keys.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const proof = sign(null, Buffer.from(formatEnrolmentText(nodeName, publicKey)), keys.privateKey).toString('base64');
  const link = new HttpLink({ server: plane.server });
  const reply = await link.enrol({ nodeName, ...BEAT, publicKey, proof }, token);
  let last = 0;
  const now = () => (last = Math.max(Date.now(), last + 1));
  link.present({
    token: reply.token,
    sign: text => sign(null, Buffer.from(text), keys.privateKey).toString('base64'),
    now,
    agent: formatAgentRun({ id: 'f'.repeat(16), ended: [] }),
  });
  await link.heartbeat(BEAT);
  return link;
}

/** Sends a heartbeat of each node every second, until it is stopped. */
function sendHeartbeats(links: readonly HttpLink[]): { stop(): Promise<readonly (number | undefined)[]> } {
  const sent: (number | undefined)[] = [];
  let isOver = false;
  const beat = async (link: HttpLink) => {
    while (!isOver) {
      const begun = performance.now();
      const isKept = await link.heartbeat(BEAT).then(
        () => true,
        () => false,
      );
      const took = performance.now() - begun;
      sent.push(isKept ? took : undefined);
      await pause(Math.max(0, HEARTBEAT_MS - took));
    }
  };
  const beating = links.map(beat);
  return {
    stop: async () => {
      isOver = true;
      await Promise.all(beating);
      return sent;
    },
  };
}
