import { expect } from 'chai';

import type { Report } from '../../../crds/report/index.js';
import { seededRandom } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import { LinkRefusedFault, LinkUnreachableFault } from '../../link/index.js';
import { silentLogger } from '../../log/index.js';
import { Outbox } from './outbox.js';

const report = (replica: string, change: Partial<Report> = {}): Report => ({
  replica,
  deployment: 'web',
  slot: 0,
  nodeId: 'node_1',
  templateHash: 'h',
  state: 'running',
  health: 'none',
  restarts: 0,
  at: '',
  ...change,
});

describe('outbox', () => {
  let clock: ManualClock;
  let outbox: Outbox;
  let sent: string[][];
  let healths: string[];
  let restarts: number[];
  let answer: () => Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    sent = [];
    healths = [];
    restarts = [];
    answer = () => Promise.resolve();
    const send = (reports: readonly Report[]) => {
      sent.push(reports.map(({ replica, state }) => `${replica} ${state}`));
      healths.push(...reports.map(({ health }) => health));
      restarts.push(...reports.filter(({ replica }) => replica === 'a').map(each => each.restarts));
      return answer();
    };
    const env = { clock, random: seededRandom(1), log: silentLogger };
    outbox = new Outbox(env, send, new AbortController().signal);
  });

  it('sends at once, with reports of the same tick in one batch', async () => {
    outbox.put(report('a'));
    outbox.put(report('b'));
    await clock.pass(0);

    expect(sent).to.deep.equal([['a running', 'b running']]);
  });

  it('collects reports while a batch is being sent, and keeps the latest of each replica', async () => {
    let arrive: () => void = () => undefined;
    answer = () => new Promise(resolve => (arrive = resolve));
    outbox.put(report('a', { state: 'pulling' }));
    await clock.pass(0);
    outbox.put(report('b', { state: 'pulling' }));
    outbox.put(report('b'));
    outbox.put(report('a'));
    await clock.pass(60_000);
    expect(sent).to.have.length(1);
    answer = () => Promise.resolve();
    arrive();
    await clock.pass(0);

    expect(sent[1]).to.deep.equal(['b running', 'a running']);
  });

  it('does not repeat an unchanged report', async () => {
    outbox.put(report('a', { at: '2030-01-01' }));
    await clock.pass(0);
    outbox.put(report('a', { at: '2030-01-02' }));
    await clock.pass(0);

    expect(sent).to.have.length(1);
  });

  it('sends all latest reports again on request', async () => {
    outbox.put(report('a'));
    await clock.pass(0);
    outbox.resendAll();
    await clock.pass(0);

    expect(sent).to.deep.equal([['a running'], ['a running']]);
  });

  it('keeps nothing of a replica that was removed while its report was being sent', async () => {
    let arrive: () => void = () => undefined;
    answer = () => new Promise(resolve => (arrive = resolve));
    outbox.put(report('a', { state: 'removed' }));
    await clock.pass(0);
    outbox.forget('a');
    arrive();
    await clock.pass(0);
    outbox.resendAll();
    await clock.pass(0);

    expect(sent).to.deep.equal([['a removed']]);
  });

  it('retries until it succeeds, with the reports that are latest then', async () => {
    answer = () => Promise.reject(new LinkUnreachableFault('away'));
    outbox.put(report('a', { state: 'pulling' }));
    await clock.pass(0);
    outbox.put(report('a'));
    answer = () => Promise.resolve();
    await clock.pass(1_000);

    expect(sent).to.deep.equal([['a pulling'], ['a running']]);
  });

  it('drops a batch that is refused for good, so that one bad report does not block all', async () => {
    answer = () => Promise.reject(new LinkRefusedFault(403, 'auth_forbidden'));
    outbox.put(report('a'));
    await clock.pass(0);
    answer = () => Promise.resolve();
    outbox.put(report('b'));
    await clock.pass(1_000);

    expect(sent).to.deep.equal([['a running'], ['b running']]);
  });

  it('sends a state that comes back while the one between is being sent', async () => {
    outbox.put(report('a', { health: 'healthy' }));
    await clock.pass(0);
    let arrive: () => void = () => undefined;
    answer = () => new Promise(resolve => (arrive = resolve));
    outbox.put(report('a', { health: 'unhealthy' }));
    await clock.pass(0);
    outbox.put(report('a', { health: 'healthy' }));
    answer = () => Promise.resolve();
    arrive();
    await clock.pass(0);

    expect(healths).to.deep.equal(['healthy', 'unhealthy', 'healthy']);
  });

  it('sends the latest report and not an older one when all are sent again while it is under way', async () => {
    outbox.put(report('a', { health: 'healthy' }));
    await clock.pass(0);
    let arrive: () => void = () => undefined;
    answer = () => new Promise(resolve => (arrive = resolve));
    outbox.put(report('a', { health: 'unhealthy' }));
    await clock.pass(0);
    outbox.resendAll();
    answer = () => Promise.resolve();
    arrive();
    await clock.pass(0);

    expect(healths.at(-1)).to.equal('unhealthy');
  });

  it('sends the same report again after it was dropped', async () => {
    answer = () => Promise.reject(new LinkRefusedFault(403, 'auth_forbidden'));
    outbox.put(report('a'));
    await clock.pass(1_000);
    answer = () => Promise.resolve();
    outbox.put(report('a'));
    await clock.pass(0);

    expect(sent).to.have.length(2);
  });

  it('keeps nothing of replicas that were removed', async () => {
    for (let at = 0; at < 50; at++) {
      outbox.put(report(`rep_${at}`));
      await clock.pass(0);
      outbox.put(report(`rep_${at}`, { state: 'removed' }));
      outbox.forget(`rep_${at}`);
      await clock.pass(0);
    }
    expect(sent.flat().filter(line => line.endsWith('removed'))).to.have.length(50);
    expect(outbox.size).to.equal(0);
    outbox.resendAll();
    await clock.pass(0);
    expect(sent).to.have.length(100);
  });

  it('bounds what a replica that changes all the time sends, and ends with its latest report', async () => {
    for (let at = 0; at < 600; at++) {
      outbox.put(report('a', { restarts: at }));
      await clock.pass(100);
    }
    outbox.put(report('b'));
    await clock.pass(0);
    expect(sent.at(-1), 'others are not delayed').to.include('b running');
    expect(sent.length).to.be.within(15, 30);

    await clock.pass(10_000);
    expect(restarts.at(-1)).to.equal(599);
  });
});
