import { formatBytes, formatCount, formatSpan } from '../../../crds/grammar/index.js';
import { checkEtcdVersion } from '../../store/index.js';
import type { NodeView } from '../../../crds/node/index.js';
import { judgeCertificate, judgeDisk, judgeEngine, judgeFirewall, judgePort } from './judge-machine.js';
import type { EtcdObservation, Finding, HealthView, Observations, ServerObservation } from './observations.js';

/** Judges all that was seen, in the order in which a person would look. */
export function judge(seen: Observations, now: number): readonly Finding[] {
  return [
    ...judgeServer(seen.server),
    ...judgeClock(seen.server),
    ...judgeEtcd(seen.etcd),
    ...judgeNodes(seen.nodes),
    judgeEngine(seen.engine),
    ...seen.certificates.map(certificate => judgeCertificate(certificate, now)),
    ...seen.disks.map(judgeDisk),
    ...seen.ports.map(judgePort),
    ...judgeFirewall(seen.firewall),
  ];
}

export function judgeServer({ address, health }: ServerObservation): readonly Finding[] {
  const area = 'server';
  if (address === undefined) {
    // As other commands say it: the cause, and in the sentence after it what to do.
    const [, message = health.fault ?? '', remedy = ''] = /^(.*?)\. (.*)$/s.exec(health.fault ?? '') ?? [];
    return [{ area, state: 'problem', message, remedy: remedy || 'name another with --server or MOORING_SERVER' }];
  }
  if (health.value === undefined)
    return [
      {
        area,
        state: 'problem',
        message: `${address} does not answer: ${health.fault}`,
        remedy: 'start it ("moor up" on a development machine), or name another with --server',
      },
    ];
  const { store } = health.value;
  const answers: Finding = store.connected
    ? { area, state: 'ok', message: `${address} answers` }
    : {
        area,
        state: 'problem',
        message: `${address} answers, but has lost its watch on etcd: what it shows is old, and it accepts no writes`,
        remedy: 'see the lines about etcd below; the server reconnects by itself',
      };
  return [answers, judgeLoops(health.value), ...judgeStore(health.value)];
}

function judgeLoops({ controllers }: HealthView): Finding {
  const area = 'controllers';
  const loops = Object.entries(controllers);
  const without = loops.filter(([, { leader }]) => !leader).map(([loop]) => loop);
  if (loops.length > 0 && without.length === 0)
    return { area, state: 'ok', message: `${formatCount(loops.length, 'loop')}, each with a leader` };
  const message =
    loops.length === 0
      ? 'no loop has ever had a leader'
      : `without a leader: ${without.join(', ')}; nothing moves there`;
  return { area, state: 'problem', message, remedy: 'start "moor controllers", or read its log' };
}

/** The controllers defragment when that gives enough back. */
const NEARS_QUOTA = 'delete what is not needed, or enlarge the quota: docs/OPERATIONS.md';

/** What the server knows of the store it uses: also where this command cannot reach etcd itself. */
function judgeStore({ store }: HealthView): readonly Finding[] {
  const area = 'etcd';
  const { alarms = [], databaseBytes = 0, quotaBytes = 0, nearsQuota, isReserved } = store;
  if (alarms.length > 0)
    return [
      {
        area,
        state: 'problem',
        message: `the alarm ${alarms.join(', ')} is raised: etcd accepts no writes`,
        remedy: 'the controllers take NOSPACE back; if it stays, follow "The alarm NOSPACE" in docs/OPERATIONS.md',
      },
    ];
  if (!nearsQuota) return [];
  const message = `${formatBytes(databaseBytes)} of its quota of ${formatBytes(quotaBytes)} are used`;
  if (isReserved)
    return [
      {
        area,
        state: 'problem',
        message: `${message}: tenants can only delete`,
        remedy:
          'the controllers make room; if it lasts, delete what is not needed or enlarge the quota: docs/OPERATIONS.md',
      },
    ];
  return [{ area, state: 'warning', message, remedy: NEARS_QUOTA }];
}

/** Less is noise of the network and of clocks that are kept in step. */
const CLOCK_WARNING_MS = 2_000;
/** Proofs of agents are refused, and leases and schedules go by the wrong time. */
const CLOCK_PROBLEM_MS = 30_000;

export function judgeClock({ clock }: ServerObservation): readonly Finding[] {
  if (!clock) return [];
  const area = 'clock';
  const certain = Math.max(0, Math.abs(clock.aheadMs) - clock.uncertainMs);
  if (certain < CLOCK_WARNING_MS)
    return [{ area, state: 'ok', message: 'the server and this machine agree about the time' }];
  const message = `the server is ${formatSpan(Math.abs(clock.aheadMs))} ${clock.aheadMs > 0 ? 'ahead of' : 'behind'} this machine`;
  const state = certain < CLOCK_PROBLEM_MS ? 'warning' : 'problem';
  return [{ area, state, message, remedy: 'run an NTP client (chrony or systemd-timesyncd) on both machines' }];
}

export function judgeEtcd({ skipped, isInMemory, members, quotaBytes }: EtcdObservation): readonly Finding[] {
  const area = 'etcd';
  if (isInMemory)
    return [{ area, state: 'ok', message: 'there is none: the server keeps everything in memory until it ends' }];
  if (skipped !== undefined)
    return [
      {
        area,
        state: 'skipped',
        message: skipped,
        remedy: 'run this beside the server, or with --config of its settings',
      },
    ];
  const findings = members.map(({ endpoint, value, fault }): Finding => {
    if (value === undefined)
      return {
        area,
        state: 'problem',
        message: `${endpoint} does not answer: ${fault}`,
        remedy: 'start this member, or repair the network path to it: docs/OPERATIONS.md',
      };
    const defects = checkEtcdVersion(value.version);
    if (defects !== undefined)
      return {
        area,
        state: 'warning',
        message: `${endpoint}: ${defects}`,
        remedy: 'update etcd, one member after the other',
      };
    if (quotaBytes > 0 && value.databaseBytes >= quotaBytes * 0.8)
      return {
        area,
        state: 'warning',
        message: `${endpoint}: ${formatBytes(value.databaseBytes)} of its quota of ${formatBytes(quotaBytes)} are used`,
        remedy: NEARS_QUOTA,
      };
    return { area, state: 'ok', message: `${endpoint}: etcd ${value.version}, ${formatBytes(value.databaseBytes)}` };
  });
  return [...findings, ...judgeMembers(members)];
}

function judgeMembers(members: EtcdObservation['members']): readonly Finding[] {
  const known = members.find(({ value }) => value !== undefined)?.value?.members;
  if (!known) return [];
  const area = 'etcd';
  const endpoints = new Set(members.map(({ endpoint }) => toHostAndPort(endpoint)));
  const unnamed = known.filter(({ clientUrls }) => !clientUrls.some(url => endpoints.has(toHostAndPort(url))));
  if (unnamed.length > 0 && known.length > 1)
    return [
      {
        area,
        state: 'warning',
        message: `members that the setting etcdEndpoints does not name: ${unnamed.map(({ name }) => name || 'one that never started').join(', ')}`,
        remedy: 'name every member, so that the loss of one is survived',
      },
    ];
  if (known.length > 1 && known.length % 2 === 0)
    return [
      {
        area,
        state: 'warning',
        message: `${known.length} members survive no more losses than ${known.length - 1} would`,
        remedy: 'use three or five',
      },
    ];
  const alone = known.length === 1 ? '; without it nothing moves, three survive the loss of one' : '';
  return [{ area, state: 'ok', message: `${formatCount(known.length, 'member')}${alone}` }];
}

function toHostAndPort(endpoint: string): string {
  return URL.canParse(endpoint) ? new URL(endpoint).host : endpoint;
}

export function judgeNodes({ value, fault, isTokenRefused }: Observations['nodes']): readonly Finding[] {
  const area = 'nodes';
  if (isTokenRefused) {
    const message = `the server refuses the token that is sent: ${fault}`;
    const remedy = 'sign in again with "moor login", or give a token that is valid: MOORING_TOKEN or --token-file';
    return [{ area: 'token', state: 'problem', message, remedy }];
  }
  if (value === undefined)
    return [
      {
        area,
        state: 'skipped',
        message: fault,
        remedy: 'fix what is named above, or give a token of the tenant: MOORING_TOKEN or --token-file',
      },
    ];
  if (value.length === 0)
    return [
      {
        area,
        state: 'warning',
        message: 'the tenant has no node',
        remedy: '"moor nodes join-token" starts the enrolment of one',
      },
    ];
  const findings = value.flatMap(judgeNode);
  const count = formatCount(value.length, 'node');
  return findings.length > 0
    ? findings
    : [{ area, state: 'ok', message: `${count}, each with an agent that sends heartbeats and an engine that answers` }];
}

function judgeNode(node: NodeView): readonly Finding[] {
  const area = 'nodes';
  const remedy = `"moor describe node ${node.name}" shows more`;
  if (node.status === 'failed' || node.status === 'joining') {
    const message = `${node.name} is ${node.status}: ${node.status === 'failed' ? 'its agent sends no heartbeats' : 'its agent has sent no heartbeat yet'}`;
    return [{ area, state: 'problem', message, remedy: `start "moor agent" there and look at its log; ${remedy}` }];
  }
  const wrong = (node.conditions ?? []).filter(({ status }) => status === 'False');
  if (wrong.length > 0)
    return wrong.map(({ message }) => ({
      area,
      state: 'problem' as const,
      message: `${node.name}: ${message}`,
      remedy,
    }));
  if (node.status !== 'ready') return [{ area, state: 'warning', message: `${node.name} is ${node.status}`, remedy }];
  return [];
}
