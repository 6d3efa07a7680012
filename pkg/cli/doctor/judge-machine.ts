import { formatBytes, formatSpan } from '../../../crds/grammar/index.js';
import type {
  CertificateObservation,
  DiskObservation,
  Finding,
  FirewallObservation,
  Observations,
  PortObservation,
} from './observations.js';

export function judgeEngine({ host, value, fault, ...seen }: Observations['engine']): Finding {
  const area = 'engine';
  if (value === undefined && 'isAbsent' in seen)
    return {
      area,
      state: 'skipped',
      message: `this machine has no container engine at ${host}`,
      remedy: 'name it with --docker-host, where an agent of this machine needs one',
    };
  if (value === undefined)
    return {
      area,
      state: 'problem',
      message: `${host} does not answer: ${fault}`,
      remedy: 'start it (systemctl start docker), or run this as a user who may use it',
    };
  const what = `${host}: Docker ${value.version}, API ${value.apiVersion}`;
  const [first] = value.warnings;
  if (first === undefined) return { area, state: 'ok', message: what };
  const message = `${what}. It warns: ${value.warnings.map(text => text.replace(/^WARNING: /, '')).join('; ')}`;
  return {
    area,
    state: 'warning',
    message,
    remedy: 'limits that the kernel does not enforce are not enforced for containers',
  };
}

const DAY_MS = 86_400_000;
/** Long enough to act in working hours. */
const CERTIFICATE_WARNING_MS = 14 * DAY_MS;

export function judgeCertificate(
  { subject, validUntil, validFrom, remedy }: CertificateObservation,
  now: number,
): Finding {
  const area = 'certificates';
  if (validUntil.value === undefined)
    return { area, state: 'problem', message: `${subject} cannot be read: ${validUntil.fault}`, remedy };
  const left = validUntil.value - now;
  const day = new Date(validUntil.value).toISOString().slice(0, 10);
  if (left <= 0) return { area, state: 'problem', message: `${subject} has expired on ${day}`, remedy };
  if (validFrom !== undefined && validFrom > now)
    return { area, state: 'problem', message: `${subject} is not valid yet`, remedy: 'set the clock of this machine' };
  const message = `${subject} is valid until ${day}, ${formatSpan(left)} from now`;
  return left < CERTIFICATE_WARNING_MS ? { area, state: 'warning', message, remedy } : { area, state: 'ok', message };
}

/** etcd and the engine fail in ways of their own below this. */
const DISK_PROBLEM_BYTES = 512 * 2 ** 20;
const DISK_WARNING_BYTES = 5 * 2 ** 30;
const DISK_WARNING_SHARE = 0.1;

export function judgeDisk({ path, space }: DiskObservation): Finding {
  const area = 'disk';
  const remedy = 'free some space, or move the folder to a larger disk';
  if (space.value === undefined) return { area, state: 'problem', message: `${path}: ${space.fault}`, remedy };
  const { freeBytes, totalBytes } = space.value;
  const message = `${path}: ${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} are free`;
  if (freeBytes < DISK_PROBLEM_BYTES) return { area, state: 'problem', message, remedy };
  const isLow = freeBytes < DISK_WARNING_BYTES && freeBytes < totalBytes * DISK_WARNING_SHARE;
  return isLow ? { area, state: 'warning', message, remedy } : { area, state: 'ok', message };
}

export function judgePort({ owner, address, isOpen, isExposed }: PortObservation): Finding {
  const area = 'ports';
  if (!isOpen)
    return {
      area,
      state: 'problem',
      message: `nothing listens at ${address}, where ${owner} should`,
      remedy: `start ${owner}, or open the port in the firewall between here and there`,
    };
  if (isExposed)
    return {
      area,
      state: 'warning',
      message: `${owner} listens at ${address} without TLS: who reaches it reads and changes everything`,
      remedy: 'listen on loopback, or use TLS: docs/OPERATIONS.md',
    };
  return { area, state: 'ok', message: `${owner} listens at ${address}` };
}

/** What keeps the networks of tenants apart: our own rule, or the chains of the engine. */
const KEEPS_APART = /-s (10\.213\.0\.0\/16) -d \1 .*-j DROP|-j DOCKER-(ISOLATION-STAGE-1|FORWARD)\b/;

export function judgeFirewall({ forwards, rules }: FirewallObservation): readonly Finding[] {
  const area = 'firewall';
  const findings: Finding[] = [];
  if (forwards === false)
    findings.push({
      area,
      state: 'warning',
      message: 'the kernel forwards no packets: containers do not reach the outside',
      remedy: 'sysctl -w net.ipv4.ip_forward=1 (the engine does it when it starts)',
    });
  if (rules.value === undefined) {
    const remedy = 'install iptables, or run this as root';
    findings.push({ area, state: 'skipped', message: `the rules cannot be read: ${rules.fault}`, remedy });
  } else if (KEEPS_APART.test(rules.value))
    findings.push({ area, state: 'ok', message: 'rules keep the networks of containers apart' });
  else
    findings.push({
      area,
      state: 'warning',
      message: 'no rule keeps the networks of containers apart: containers of different tenants may reach each other',
      remedy: 'let the engine manage iptables ("iptables": true in daemon.json), and restart it',
    });
  return findings;
}
