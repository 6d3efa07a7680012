import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';

import { expect } from 'chai';

import { until } from '../../dev/testing/index.js';

/** One request in so many milliseconds goes to each replica: 25 a second. */
const EVERY_MS = 40;
/** A load balancer learns within so long who is offered: a replica leaves only seconds after it is not. */
const FOLLOW_MS = 100;
/** A list of replicas that is older is not relied on: what became due meanwhile is sent when there is a new one. */
const RELIED_ON_MS = 1_000;
/** To one replica at a time: what a stall has held back does not arrive all at once. */
const MOST_IN_FLIGHT = 32;
/** Of the requests that were due: enough to meet a replica that leaves. The rest it is owed when it does, much on a busy machine. */
const LEAST_SENT = 0.5;

/** A replica that requests may be sent to, as a load balancer knows it. */
export interface OfferedReplica {
  readonly id: string;
  readonly url: string;
}

export interface TrafficPlan {
  /** Every replica that is offered now. It throws while that cannot be known. */
  readonly list: () => Promise<readonly OfferedReplica[]>;
  /** So many are offered at any moment. */
  readonly atLeast: number;
}

/** The requests to one replica, at a pace of its own: they do not wait for each other, and what is late is caught up with. */
class Lane {
  readonly #url: string;
  readonly #since = Date.now();
  readonly #inFlight = new Set<Promise<void>>();
  #sent = 0;
  #due = 0;
  answered = 0;
  readonly failures: string[] = [];

  constructor({ url }: OfferedReplica) {
    this.#url = url;
  }

  get counts() {
    return { url: this.#url, due: this.#due, sent: this.#sent, answered: this.answered };
  }

  sendDue(): void {
    this.#due = Math.floor((Date.now() - this.#since) / EVERY_MS) + 1;
    while (this.#sent < this.#due && this.#inFlight.size < MOST_IN_FLIGHT) {
      this.#sent++;
      const request = this.#request().finally(() => this.#inFlight.delete(request));
      this.#inFlight.add(request);
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  async #request(): Promise<void> {
    try {
      const status = await requestStatus(this.#url);
      if (status === 200) this.answered++;
      else this.failures.push(`${this.#url}: ${status}`);
    } catch (thrown) {
      this.failures.push(`${this.#url}: ${String(thrown)}`);
    }
  }
}

/** The status of a whole answer, on a connection of its own. A fetch would cost five times as much. */
async function requestStatus(url: string): Promise<number | undefined> {
  const [answer] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
  await finished(answer.resume());
  return answer.statusCode;
}

/** Clients behind a load balancer: it follows which replicas are offered, and each of them gets 25 requests a second. */
class Traffic {
  readonly #list: TrafficPlan['list'];
  readonly #lanes = new Map<string, Lane>();
  readonly #past: Lane[] = [];
  readonly #running: Promise<unknown>;
  #isStopped = false;
  #listedAt = 0;
  /** The fewest replicas that were offered at once. */
  fewest = Number.POSITIVE_INFINITY;

  constructor({ list }: Pick<TrafficPlan, 'list'>) {
    this.#list = list;
    this.#running = Promise.all([this.#follow(), this.#send()]);
  }

  get lanes(): readonly Lane[] {
    return [...this.#past, ...this.#lanes.values()];
  }

  /** Whether each replica that is offered has answered, after those that had before. */
  hasAnswered(before: ReadonlyMap<Lane, number> = new Map()): boolean {
    const lanes = [...this.#lanes.values()];
    return lanes.length > 0 && lanes.every(lane => lane.answered > (before.get(lane) ?? 0) + 10);
  }

  async end(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    await Promise.all(this.lanes.map(lane => lane.end()));
  }

  async #follow(): Promise<void> {
    while (!this.#isStopped) {
      const begun = Date.now();
      const offered = await this.#list().catch(() => undefined);
      if (offered) {
        this.#offer(offered);
        this.#listedAt = begun;
        this.fewest = Math.min(this.fewest, offered.length);
      }
      await pause(FOLLOW_MS);
    }
  }

  #offer(offered: readonly OfferedReplica[]): void {
    for (const [id, lane] of this.#lanes) {
      if (offered.some(each => each.id === id)) continue;
      this.#lanes.delete(id);
      this.#past.push(lane);
    }
    for (const each of offered) if (!this.#lanes.has(each.id)) this.#lanes.set(each.id, new Lane(each));
  }

  async #send(): Promise<void> {
    while (!this.#isStopped) {
      if (Date.now() - this.#listedAt < RELIED_ON_MS) for (const lane of this.#lanes.values()) lane.sendDue();
      await pause(EVERY_MS / 4);
    }
  }
}

/**
 * Has something done under traffic: no request may fail, at no moment may fewer replicas be offered than there must be, and what
 * was due by the pace was sent. Nothing is held to a time: on a busy machine requests are late, and are made up for.
 */
export async function withTraffic({ list, atLeast }: TrafficPlan, work: () => Promise<void>): Promise<void> {
  const traffic = new Traffic({ list });
  try {
    await until('the first answers', () => traffic.hasAnswered());
    traffic.fewest = Number.POSITIVE_INFINITY;
    await work();
    const before = new Map(traffic.lanes.map(lane => [lane, lane.answered]));
    await until('answers afterwards', () => traffic.hasAnswered(before));
  } finally {
    await traffic.end();
  }
  const counts = traffic.lanes.map(lane => lane.counts);
  const sum = (part: 'due' | 'sent' | 'answered') => counts.reduce((total, each) => total + each[part], 0);
  expect(traffic.lanes.flatMap(({ failures }) => failures).join('\n'), 'requests that failed').to.equal('');
  expect(sum('answered')).to.equal(sum('sent'));
  expect(sum('sent'), `of those that were due: ${JSON.stringify(counts)}`).to.be.at.least(sum('due') * LEAST_SENT);
  expect(traffic.fewest, 'replicas that were offered at once').to.be.at.least(atLeast);
}
