import { createPublicKey, verify } from 'node:crypto';

import { expect } from 'chai';

import { seededRandom } from '../../clock/index.js';
import { ManualClock } from '../../clock/manual-clock.testing.js';
import {
  type AgentLink,
  type EnrolReply,
  type EnrolRequest,
  formatEnrolmentText,
  LinkRefusedFault,
  LinkUnreachableFault,
  type NodeCredentials,
  type RenewRequest,
  formatRenewalText,
} from '../../link/index.js';
import { silentLogger } from '../../log/index.js';
import { createMemoryDisk } from '../disk.js';
import { SimulatedEngine } from '../engine/index.js';
import { Membership } from './membership.js';

const HOUR = 3_600_000;

/** A control plane that knows nothing but tokens. */
class Registrar {
  readonly clock = new ManualClock();
  readonly disk = createMemoryDisk();
  readonly enrolments: EnrolRequest[] = [];
  readonly renewals: RenewRequest[] = [];
  presented: string | undefined;
  /** The time of the next proof. */
  now: () => number = () => 0;
  enrol: (request: EnrolRequest) => Promise<EnrolReply> = () => Promise.resolve(this.reply('first'));
  renew: () => Promise<EnrolReply> = () => Promise.resolve(this.reply('renewed'));

  reply(token: string): EnrolReply {
    const node = { id: 'node_1', name: 'n1', tenant: 't1' };
    return { node, token, expiresAt: new Date(this.clock.now() + 24 * HOUR).toISOString() };
  }

  membership(joinToken?: string): Membership {
    const link = {
      present: ({ token, now }: NodeCredentials) => {
        this.presented = token;
        this.now = now;
      },
      enrol: (request: EnrolRequest) => {
        this.enrolments.push(request);
        return this.enrol(request);
      },
      renew: (request: RenewRequest) => {
        this.renewals.push(request);
        return this.renew();
      },
    } as unknown as AgentLink;
    const random = seededRandom(1);
    const engine = new SimulatedEngine({ clock: this.clock, random });
    const env = { clock: this.clock, random, engine, link, log: silentLogger, disk: this.disk };
    return new Membership(env, { name: 'n1', version: 'test', ...(joinToken === undefined ? {} : { joinToken }) });
  }
}

const signed = (publicKey: string, text: string, proof: string): boolean => {
  const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  return verify(null, Buffer.from(text), key, Buffer.from(proof, 'base64'));
};

describe('membership', () => {
  const { signal } = new AbortController();
  let registrar: Registrar;

  beforeEach(() => {
    registrar = new Registrar();
  });

  it('enrols with proof that it holds the key', async () => {
    expect(await registrar.membership('join').join(signal)).to.deep.equal({ id: 'node_1', name: 'n1', tenant: 't1' });

    const [{ nodeName, publicKey, proof }] = registrar.enrolments as [EnrolRequest];
    expect(signed(publicKey, formatEnrolmentText(nodeName, publicKey), proof)).to.equal(true);
    expect(registrar.presented).to.equal('first');
  });

  it('repeats a lost enrolment with the same key', async () => {
    registrar.enrol = () => Promise.reject(new LinkUnreachableFault('lost'));
    const joining = registrar.membership('join').join(signal);
    await registrar.clock.pass(5_000);
    registrar.enrol = () => Promise.resolve(registrar.reply('first'));
    await registrar.clock.pass(60_000);
    await joining;

    expect(registrar.enrolments.length).to.be.greaterThan(1);
    expect(new Set(registrar.enrolments.map(({ publicKey }) => publicKey)).size).to.equal(1);
  });

  it('needs no join token after enrolment', async () => {
    await registrar.membership('join').join(signal);
    registrar.presented = undefined;

    expect((await registrar.membership().join(signal))?.id).to.equal('node_1');
    expect(registrar.presented).to.equal('first');
    expect(registrar.enrolments).to.have.length(1);
  });

  it('renews its token by signature at two thirds of its life', async () => {
    const membership = registrar.membership('join');
    await membership.join(signal);
    const end = new AbortController();
    const fresh = membership.keepTokenFresh(end.signal);
    await registrar.clock.pass(16 * HOUR);
    expect(registrar.renewals).to.have.length(0);
    await registrar.clock.pass(HOUR);
    end.abort();
    await fresh;

    const [{ nodeId, at, proof }] = registrar.renewals as [RenewRequest];
    expect(signed(registrar.enrolments[0]!.publicKey, formatRenewalText(nodeId, at), proof)).to.equal(true);
    expect(registrar.presented).to.equal('renewed');
  });

  it('renews its token no more often where its clock is a day ahead', async () => {
    const serverNow = () => registrar.clock.now() - 24 * HOUR;
    const reply = (token: string) => {
      return { ...registrar.reply(token), expiresAt: new Date(serverNow() + 24 * HOUR).toISOString() };
    };
    registrar.enrol = () => Promise.resolve(reply('first'));
    registrar.renew = () => {
      const { at } = registrar.renewals.at(-1)!;
      return Math.abs(at - serverNow()) < HOUR
        ? Promise.resolve(reply('renewed'))
        : Promise.reject(new LinkRefusedFault(403, 'renewal_time_skewed', serverNow()));
    };
    const membership = registrar.membership('join');
    await membership.join(signal);
    const end = new AbortController();
    const fresh = membership.keepTokenFresh(end.signal);
    await registrar.clock.pass(15 * HOUR);
    expect(registrar.renewals, 'one is refused, and tells it the time').to.have.length(2);
    await registrar.clock.pass(2 * HOUR);
    end.abort();
    await fresh;
    expect(registrar.renewals).to.have.length(3);
  });

  it('renews once for concurrent calls that were rejected, and repeats them', async () => {
    const membership = registrar.membership('join');
    await membership.join(signal);
    const call = () =>
      registrar.presented === 'renewed'
        ? Promise.resolve('done')
        : Promise.reject(new LinkRefusedFault(401, 'auth_invalid'));

    const results = await Promise.all([membership.authorised(call), membership.authorised(call)]);
    expect(results).to.deep.equal(['done', 'done']);
    expect(registrar.renewals).to.have.length(1);
  });

  it('enrols again when its node was deleted and it has a join token', async () => {
    await registrar.membership('join').join(signal);
    registrar.renew = () => Promise.reject(new LinkRefusedFault(404, 'resource_not_found'));
    registrar.enrol = () => Promise.resolve(registrar.reply('second'));
    const membership = registrar.membership('join');
    await membership.join(signal);
    const call = () =>
      registrar.presented === 'second'
        ? Promise.resolve('done')
        : Promise.reject(new LinkRefusedFault(401, 'auth_invalid'));

    expect(await membership.authorised(call)).to.equal('done');
  });

  it('adopts the server’s time when its own is refused, and repeats the call', async () => {
    const membership = registrar.membership('join');
    await membership.join(signal);
    const serverTime = registrar.clock.now() + 10 * HOUR;
    const times: number[] = [];
    const call = () => {
      times.push(registrar.now());
      return times.length > 1 ? Promise.resolve('done') : Promise.reject(stale);
    };
    const stale = new LinkRefusedFault(403, 'node_proof_stale', serverTime);

    expect(await membership.authorised(call)).to.equal('done');
    expect(times[1]).to.equal(serverTime);
    expect(registrar.now(), 'no time is given twice').to.equal(serverTime + 1);
    expect(registrar.renewals).to.have.length(0);
  });

  it('signs each renewal with a later time, also after a restart with the clock set back', async () => {
    await registrar.membership('join').join(signal);
    const renewed = async () => {
      const membership = registrar.membership('join');
      await membership.join(signal);
      const call = () => Promise.reject(new LinkRefusedFault(401, 'auth_invalid'));
      await membership.authorised(call).catch(() => undefined);
    };
    await renewed();
    await renewed();
    const [first, second] = registrar.renewals as [RenewRequest, RenewRequest];

    expect(second.at).to.be.greaterThan(first.at);
  });

  it('forgets the time of a renewal that was signed while a clock was far ahead', async () => {
    await registrar.membership('join').join(signal);
    const stored = JSON.parse((await registrar.disk.read('node.json'))!) as object;
    const renewedAt = registrar.clock.now() + 10_000 * HOUR;
    await registrar.disk.write('node.json', JSON.stringify({ ...stored, renewedAt }));
    const membership = registrar.membership();
    await membership.join(signal);
    await membership.authorised(() => Promise.reject(new LinkRefusedFault(401, 'auth_invalid'))).catch(() => undefined);

    expect(registrar.renewals[0]!.at).to.be.closeTo(registrar.clock.now(), 1_000);
  });

  it('does not renew its token after other refusals', async () => {
    const membership = registrar.membership('join');
    await membership.join(signal);
    const thrown = await membership
      .authorised(() => Promise.reject(new LinkRefusedFault(403, 'auth_forbidden')))
      .then(
        () => undefined,
        (refused: unknown) => refused,
      );

    expect(thrown).to.include({ status: 403 });
    expect(registrar.renewals).to.have.length(0);
  });

  it('enrols again when its enrolment is damaged, and says nothing of what was in it', async () => {
    const registrar = new Registrar();
    await registrar.membership('join').join(new AbortController().signal);
    await registrar.disk.write('node.json', '{"node":{"id":"node_1"},"token":"tok');
    const node = await registrar.membership('join').join(new AbortController().signal);
    expect(node?.id).to.equal('node_1');
    expect(registrar.enrolments).to.have.length(2);
    expect(registrar.enrolments[1]?.publicKey, 'the same key').to.equal(registrar.enrolments[0]?.publicKey);
  });
});
