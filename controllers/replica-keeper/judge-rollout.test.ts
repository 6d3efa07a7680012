import { expect } from 'chai';

import type { StoredDeployment } from '../../crds/deployment/index.js';
import { computeTemplateHash, type Replica, toContainerTemplate } from '../../crds/replica/index.js';
import type { Report } from '../../crds/report/index.js';
import type { RolloutProgress, RolloutRecord } from '../../crds/rollout/index.js';
import type { ObservedReplica } from '../reading/index.js';
import { judgeRollout, type RolloutJudgement } from './judge-rollout.js';

const AT = '2030-01-01T00:00:00.000Z';
const DEADLINE_MS = 60_000;

const web = (change: Partial<StoredDeployment> = {}): StoredDeployment => ({
  metadata: { tenant: 't1', uid: 'dep_1', generation: 2, createdAt: AT, updatedAt: AT, specHash: 'h' },
  kind: 'Deployment',
  name: 'web',
  image: 'web:2',
  replicas: 1,
  secretsVersion: 0,
  rollout: { maxSurge: 1, maxUnavailable: 0, progressDeadline: '1m', autoRollback: true },
  ...change,
});

const seen = (of: StoredDeployment, report: Partial<Report> | undefined, change: Partial<Replica> = {}) =>
  ({
    replica: {
      uid: 'r0',
      tenant: 't1',
      deployment: 'web',
      deploymentUid: 'dep_1',
      slot: 0,
      generation: 2,
      templateHash: computeTemplateHash(of),
      template: toContainerTemplate(of),
      createdAt: AT,
      nodeId: 'node_1',
      ...change,
    },
    revision: 5,
    report: report && { state: 'running', health: 'none', restarts: 0, since: AT, ...report },
    node: 'well',
    misplaced: false,
  }) as unknown as ObservedReplica;

const begun: RolloutProgress = { revision: 2, at: AT, available: 0, placed: 1, old: 0 };
const make = (progress: RolloutProgress | undefined): RolloutRecord => ({
  uid: 'dep_1',
  ...(progress && { progress }),
});

const judge = (
  deployment: StoredDeployment,
  replica: ObservedReplica,
  afterMs: number,
  change: Partial<RolloutJudgement> = {},
) =>
  judgeRollout({
    deployment,
    replicas: [replica],
    record: make(begun),
    held: false,
    now: Date.parse(AT) + afterMs,
    settleMs: 1_000,
    watchedSince: Date.parse(AT),
    ...change,
  });

const secrets = [{ name: 'DB', vault_path: 'deployments/web-db', anchor: 'process', rotation: 'restart' }] as const;

describe('the judgement on a rollout', () => {
  const starting = seen(web(), { health: 'starting' });
  const old = (change: Partial<Replica>) =>
    seen(web({ image: 'web:1', stopGracePeriod: '5m' }), {}, { uid: 'r1', slot: 1, ...change });

  it('leaves it open until the deadline, and says when to look again', () => {
    expect(judge(web(), starting, DEADLINE_MS - 1)).to.deep.equal({ kind: 'open', inMs: 1 });
  });

  it('begins the deadline when it first sees the rollout, however old the records are', () => {
    const verdict = judge(web(), starting, 100 * DEADLINE_MS, { record: undefined });
    const at = new Date(Date.parse(AT) + 100 * DEADLINE_MS).toISOString();
    expect(verdict).to.deep.equal({ kind: 'progressed', progress: { ...begun, at }, inMs: DEADLINE_MS });
  });

  it('begins it anew for another revision, and for a record that cannot be read', () => {
    for (const progress of [
      { ...begun, revision: 1 },
      { ...begun, at: 'never' },
    ]) {
      expect(judge(web(), starting, 2 * DEADLINE_MS, { record: make(progress) })).to.include({ kind: 'progressed' });
    }
  });

  it('stops it while a dependency is not met or the rollout is paused, and says so once', () => {
    const paused = web({ rollout: { ...web().rollout!, paused: true } });
    expect(judge(web(), starting, 2 * DEADLINE_MS, { held: true })).to.deep.equal({ kind: 'waits' });
    expect(judge(paused, starting, 2 * DEADLINE_MS)).to.deep.equal({ kind: 'waits' });
    expect(judge(paused, starting, 2 * DEADLINE_MS, { record: make(undefined) })).to.deep.equal({ kind: 'open' });
  });

  it('leaves out the time in which nobody kept the replicas', () => {
    const now = 5 * DEADLINE_MS;
    const since = (ms: number) => judge(web(), starting, now, { watchedSince: Date.parse(AT) + now - ms });
    expect(since(1)).to.deep.equal({ kind: 'open', inMs: DEADLINE_MS - 1 });
    expect(since(DEADLINE_MS)).to.include({ kind: 'failed' });
  });

  it('counts only what was never reached before as progress, and records it ten times in a deadline at most', () => {
    const two = web({ replicas: 2 });
    const ready = seen(two, { health: 'healthy' });
    const at = (ms: number, available: number) => judge(two, ready, ms, { record: make({ ...begun, available }) });
    expect(at(DEADLINE_MS - 1, 0)).to.nested.include({ kind: 'progressed', 'progress.available': 1 });
    expect(at(1_000, 0)).to.deep.equal({ kind: 'open', inMs: 5_000 });
    expect(at(DEADLINE_MS, 1), 'it was available before').to.include({ kind: 'failed' });
    const lost = judge(two, starting, 2_000, { record: make({ ...begun, available: 1 }) });
    expect(lost).to.deep.equal({ kind: 'open', inMs: DEADLINE_MS - 2_000 });
  });

  it('gives a container that is stopped the time that its template gives it', () => {
    const both = (retiring: Partial<Replica>, ms: number) =>
      judge(web(), starting, ms, { replicas: [starting, old(retiring)], record: make({ ...begun, old: 1 }) });
    expect(both({ retiringSince: AT }, 300_000)).to.deep.equal({ kind: 'open', inMs: DEADLINE_MS });
    expect(both({ retiringSince: AT }, 300_000 + DEADLINE_MS)).to.include({ kind: 'failed' });
    expect(both({}, DEADLINE_MS)).to.include({ kind: 'failed' });
  });

  it('is complete when every replica is available', () => {
    expect(judge(web(), seen(web(), {}), 2_000)).to.deep.equal({ kind: 'complete' });
  });

  it('keeps what the container wrote last beside the message, never in it', () => {
    const lastEnd = { exitCode: 3, at: AT, output: 'the lines' };
    const verdict = judge(web(), seen(web(), { state: 'exited', reason: 'crash_loop', lastEnd }), DEADLINE_MS);
    expect(verdict).to.nested.include({ kind: 'failed', 'failure.exitCode': 3, 'failure.output': 'the lines' });
    expect(verdict.kind === 'failed' && verdict.failure.message).not.to.include('the lines');
  });

  it('names the container, and has its own last lines beside the output of its health check', () => {
    const failedCheck = { exitCode: 7, at: AT, output: 'no page', log: 'cannot bind' };
    const lastEnd = { exitCode: 1, at: AT, output: 'an earlier end' };
    const container = { containerId: 'c1', containerName: 'web.0' };
    const fail = (report: object) => {
      const verdict = judge(web(), seen(web(), { health: 'unhealthy', ...container, ...report }), DEADLINE_MS);
      return verdict.kind === 'failed' ? verdict.failure : undefined;
    };
    expect(fail({ failedCheck, lastEnd })).to.include({
      ...container,
      exitCode: 7,
      output: 'no page',
      log: 'cannot bind',
    });
    expect(fail({ failedCheck, lastEnd })?.message).to.not.match(/cannot bind|no page/);
    const { log: _, ...unread } = failedCheck;
    expect(fail({ failedCheck: unread, lastEnd })?.log).to.equal('an earlier end');
    expect(fail({ failedCheck: { ...unread, isLogWithheld: true } })).to.include({ isWithheld: true });
  });

  it('names missing secrets as the cause while they keep the container from being created', () => {
    const deployment = web({ secrets });
    const verdict = judge(deployment, seen(deployment, undefined), DEADLINE_MS);
    expect(verdict).to.nested.include({ kind: 'failed', 'failure.reason': 'secrets_unresolved' });
    expect(verdict.kind === 'failed' && verdict.failure.message).to.include('the secrets of replica 0 were not found');
  });
});
