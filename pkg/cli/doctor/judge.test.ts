import { expect } from 'chai';

import type { NodeView } from '../../../crds/node/index.js';
import { judgeClock, judgeEtcd, judgeNodes, judgeServer } from './judge.js';
import { judgeCertificate, judgeDisk, judgeEngine, judgeFirewall, judgePort } from './judge-machine.js';
import type { EtcdObservation, Finding, HealthView, Observations } from './observations.js';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const DAY = 86_400_000;
const GIB = 2 ** 30;

const well: HealthView = {
  status: 'ok',
  store: { connected: true, alarms: [], databaseBytes: 100, quotaBytes: 1000 },
  controllers: { scheduler: { leader: true }, janitor: { leader: true } },
};
const server = (health: HealthView) => ({ address: 'http://127.0.0.1:7070', health: { value: health } });
const member = (version: string, more: object = {}): EtcdObservation['members'][number] => ({
  endpoint: 'https://10.0.0.1:2379',
  value: {
    version,
    databaseBytes: 100,
    usedBytes: 100,
    alarms: [],
    members: [{ id: '1', name: 'a', clientUrls: ['https://10.0.0.1:2379'] }],
    ...more,
  },
});
const etcd = (...members: EtcdObservation['members']): EtcdObservation => ({ members, quotaBytes: 1000 });
const named = (...names: readonly string[]) => ({
  members: names.map(name => ({ id: name, name, clientUrls: [`https://${name}:2379`] })),
});
const node = (more: Partial<NodeView>) => ({ name: 'n1', status: 'ready', conditions: [], ...more }) as NodeView;
const engine = (value: Partial<NonNullable<Observations['engine']['value']>>): Observations['engine'] => ({
  host: 'unix:///run/docker.sock',
  value: { version: '27.0', apiVersion: '1.46', warnings: [], ...value },
});
const certificate = (days: number, validFrom?: number) => ({
  subject: 'a certificate',
  validUntil: { value: NOW + days * DAY },
  remedy: 'renew it',
  ...(validFrom !== undefined && { validFrom }),
});
const disk = (freeBytes: number, totalBytes: number) => ({ path: '/', space: { value: { freeBytes, totalBytes } } });
const port = { owner: 'etcd', address: '10.0.0.1:2379', isOpen: true, isExposed: false };

/** What is seen, the worst state that it is given, and words that the line or its remedy has. */
const cases: readonly (readonly [string, readonly Finding[], Finding['state'], RegExp])[] = [
  ['a server that is well', judgeServer(server(well)), 'ok', /answers.*each with a leader/],
  [
    'no server',
    judgeServer({ address: undefined, health: { fault: 'none is known. Start one with "moor up".' } }),
    'problem',
    /^none is known Start one with "moor up"/,
  ],
  [
    'no server, and no word of what to do',
    judgeServer({ address: undefined, health: { fault: 'there is no file /token.' } }),
    'problem',
    /MOORING_SERVER/,
  ],
  ['a silent server', judgeServer({ address: 'http://x', health: { fault: 'refused' } }), 'problem', /refused/],
  ['a server without etcd', judgeServer(server({ ...well, store: { connected: false } })), 'problem', /lost its watch/],
  [
    'a loop without a leader',
    judgeServer(server({ ...well, controllers: { ...well.controllers, scheduler: { leader: false } } })),
    'problem',
    /without a leader: scheduler;.*moor controllers/,
  ],
  ['no controllers', judgeServer(server({ ...well, controllers: {} })), 'problem', /no loop has ever/],
  [
    'an alarm',
    judgeServer(server({ ...well, store: { connected: true, alarms: ['NOSPACE'] } })),
    'problem',
    /NOSPACE.*OPERATIONS/,
  ],
  [
    'a store that is nearly full',
    judgeServer(server({ ...well, store: { ...well.store, nearsQuota: true } })),
    'warning',
    /quota.*enlarge/,
  ],
  [
    'a store that keeps what is left for deletions',
    judgeServer(server({ ...well, store: { ...well.store, nearsQuota: true, isReserved: true } })),
    'problem',
    /tenants can only delete.*controllers make room/,
  ],
  ['clocks in step', judgeClock({ ...server(well), clock: { aheadMs: -900, uncertainMs: 600 } }), 'ok', /agree/],
  [
    'a slow answer that hides a difference',
    judgeClock({ ...server(well), clock: { aheadMs: 4000, uncertainMs: 3000 } }),
    'ok',
    /agree/,
  ],
  [
    'a clock that is off',
    judgeClock({ ...server(well), clock: { aheadMs: 5000, uncertainMs: 600 } }),
    'warning',
    /5s ahead.*NTP/,
  ],
  [
    'a wrong clock',
    judgeClock({ ...server(well), clock: { aheadMs: -3_600_000, uncertainMs: 600 } }),
    'problem',
    /1h behind/,
  ],
  ['etcd that was not asked', judgeEtcd({ skipped: 'unknown', members: [], quotaBytes: 0 }), 'skipped', /--config/],
  ['a sound member', judgeEtcd(etcd(member('3.5.21'))), 'ok', /3\.5\.21.*1 member/],
  ['a member without a known quota', judgeEtcd({ ...etcd(member('3.5.21')), quotaBytes: 0 }), 'ok', /3\.5\.21/],
  ['a version with defects', judgeEtcd(etcd(member('3.4.23'))), 'warning', /known defects.*update etcd/],
  [
    'a silent member',
    judgeEtcd(etcd({ endpoint: 'https://x', fault: 'refused' })),
    'problem',
    /refused.*start this member/,
  ],
  ['a full member', judgeEtcd(etcd(member('3.5.21', { databaseBytes: 900 }))), 'warning', /quota/],
  [
    'an unnamed member',
    judgeEtcd(etcd(member('3.5.21', named('10.0.0.1', 'b', 'c')))),
    'warning',
    /does not name: b, c/,
  ],
  [
    'an even number of members',
    judgeEtcd(
      etcd(member('3.5.21', named('10.0.0.1', 'b')), { ...member('3.5.21'), endpoint: 'https://b:2379' } as never),
    ),
    'warning',
    /three or five/,
  ],
  ['nodes that are ready', judgeNodes({ value: [node({})] }), 'ok', /1 node,/],
  ['no node', judgeNodes({ value: [] }), 'warning', /join-token/],
  [
    'a failed node',
    judgeNodes({ value: [node({}), node({ name: 'n2', status: 'failed' })] }),
    'problem',
    /n2.*sends no heartbeats.*moor agent/,
  ],
  [
    'a node without its engine',
    judgeNodes({
      value: [node({ conditions: [{ type: 'EngineReady', status: 'False', reason: 'x', message: 'it is off' }] })],
    }),
    'problem',
    /n1: it is off/,
  ],
  ['a draining node', judgeNodes({ value: [node({ status: 'draining' })] }), 'warning', /draining/],
  ['a refused token', judgeNodes({ fault: 'it is revoked', isTokenRefused: true }), 'problem', /revoked.*moor login/],
  ['nodes that may not be read', judgeNodes({ fault: 'no token' }), 'skipped', /no token/],
  ['an engine', [judgeEngine(engine({}))], 'ok', /Docker 27\.0/],
  [
    'an engine that warns',
    [judgeEngine(engine({ warnings: ['WARNING: No swap limit support'] }))],
    'warning',
    /warns: No swap/,
  ],
  ['no engine', [judgeEngine({ host: 'unix:///x', fault: 'absent', isAbsent: true })], 'skipped', /--docker-host/],
  ['a silent engine', [judgeEngine({ host: 'unix:///x', fault: 'EACCES' })], 'problem', /EACCES.*start it/],
  ['a new certificate', [judgeCertificate(certificate(100), NOW)], 'ok', /100d from now/],
  ['a certificate near its end', [judgeCertificate(certificate(13), NOW)], 'warning', /renew it/],
  ['an expired certificate', [judgeCertificate(certificate(-1), NOW)], 'problem', /has expired on 2026-11-15/],
  ['a certificate of tomorrow', [judgeCertificate(certificate(100, NOW + DAY), NOW)], 'problem', /not valid yet/],
  [
    'a certificate that cannot be read',
    [judgeCertificate({ subject: 'x', validUntil: { fault: 'ENOENT' }, remedy: 'renew it' }, NOW)],
    'problem',
    /ENOENT/,
  ],
  ['room on the disk', [judgeDisk(disk(50 * GIB, 100 * GIB))], 'ok', /50GiB of 100GiB/],
  ['a small disk with room', [judgeDisk(disk(2 * GIB, 8 * GIB))], 'ok', /2GiB/],
  ['a disk that fills up', [judgeDisk(disk(4 * GIB, 100 * GIB))], 'warning', /free some space/],
  ['a full disk', [judgeDisk(disk(0.1 * GIB, 100 * GIB))], 'problem', /free some space/],
  ['an open port', [judgePort(port)], 'ok', /listens/],
  ['a closed port', [judgePort({ ...port, isOpen: false })], 'problem', /nothing listens.*start etcd/],
  ['an exposed port', [judgePort({ ...port, isExposed: true })], 'warning', /without TLS/],
  [
    'our own rule',
    judgeFirewall({
      forwards: true,
      rules: { value: '-A FORWARD -s 10.213.0.0/16 -d 10.213.0.0/16 -m physdev ! --physdev-is-bridged -j DROP' },
    }),
    'ok',
    /apart/,
  ],
  [
    "the engine's chains",
    judgeFirewall({ forwards: true, rules: { value: '-A FORWARD -j DOCKER-ISOLATION-STAGE-1' } }),
    'ok',
    /apart/,
  ],
  ['no rule', judgeFirewall({ forwards: true, rules: { value: '-P FORWARD ACCEPT' } }), 'warning', /daemon\.json/],
  ['rules that cannot be read', judgeFirewall({ forwards: true, rules: { fault: 'EPERM' } }), 'skipped', /EPERM.*root/],
  [
    'a kernel that does not forward',
    judgeFirewall({ forwards: false, rules: { value: '-A FORWARD -j DOCKER-FORWARD' } }),
    'warning',
    /ip_forward/,
  ],
];

describe('what moor doctor says of', () => {
  for (const [name, findings, state, words] of cases) {
    it(`${name}: ${state}`, () => {
      const order = ['ok', 'skipped', 'warning', 'problem'];
      const worst = findings.map(finding => finding.state).toSorted((a, b) => order.indexOf(b) - order.indexOf(a))[0];
      expect(worst).to.equal(state);
      expect(findings.map(({ message, remedy = '' }) => `${message} ${remedy}`).join(' ')).to.match(words);
      for (const finding of findings) expect(finding.remedy === undefined).to.equal(finding.state === 'ok');
    });
  }
});
