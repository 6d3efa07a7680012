import { expect } from 'chai';

import type { Delivery } from '../../crds/delivery/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { getEntry } from '../../crds/rejections/index.js';
import { value } from '../store/index.js';
import { DispatcherLab, LAB_NODE, secretReplica, LAB_TENANT, withoutStore } from './dispatcher-lab.testing.js';
import { toEnvironmentRejection } from './deliver-environment.js';
import type { AssignmentLine } from './agent-link.js';
import { TICKET_MS } from './tickets.js';

describe('secret delivery', () => {
  let lab: DispatcherLab;

  beforeEach(async () => {
    lab = await new DispatcherLab().start();
    await lab.keep('web-db', { user: 'shop', password: 'first' });
  });
  afterEach(() => lab.stop());

  const lines = async (): Promise<AssignmentLine[]> => {
    const heard: AssignmentLine[] = [];
    const close = lab.dispatcher.assignments(LAB_NODE, line => heard.push(line));
    await lab.clock.pass(0);
    close();
    return heard;
  };
  const takeTicket = async (uid = 'rep_1'): Promise<string> => {
    const [snapshot] = await lines();
    return (snapshot?.type === 'snapshot' && snapshot.tickets?.[uid]) || '';
  };
  const ask = (ticket: string, change: { replica?: string; generation?: number } = {}, node = LAB_NODE) =>
    lab.dispatcher.environment(node, { replica: 'rep_1', generation: 1, ticket, ...change });
  const shown = async (ticket: string) => {
    const answer = await ask(ticket);
    return answer.kind === 'ready'
      ? Object.fromEntries([...answer.environment].map(([name, secret]) => [name, secret.reveal()]))
      : answer.kind;
  };
  const events = () => lab.cache.list(ranges.of(ranges.events, LAB_TENANT)).map(entry => value<StoredEvent>(entry));

  it('delivers every key and every template in the stamped versions', async () => {
    await lab.assign(secretReplica());
    await lab.keep('web-db', { user: 'shop', password: 'second' });

    expect(await shown(await takeTicket())).to.deep.equal({
      DB_user: 'shop',
      DB_password: 'first',
      URL: 'db://shop:first@db',
    });
  });

  it('is recorded with version numbers only', async () => {
    await lab.assign(secretReplica());
    await ask(await takeTicket());
    await lab.cache.barrier();

    const entry = lab.cache.get(keys.delivery(LAB_TENANT, 'web', 'rep_1'));
    const record = value<Delivery>(entry!);
    expect(record.nodeId).to.equal(LAB_NODE.id);
    expect(record.uses.map(({ versions }) => versions)).to.deep.equal([{ 'deployments/web-db': 1 }]);
    expect(entry!.bytes.toString()).not.to.contain('first');
  });

  it('works once per ticket, and a second use writes one event', async () => {
    await lab.assign(secretReplica());
    const ticket = await takeTicket();
    const answers = await Promise.all([ask(ticket), ask(ticket), ask(ticket)]);
    expect(answers.map(({ kind }) => kind).toSorted()).to.deep.equal(['ready', 'ticket_used', 'ticket_used']);
    expect((await ask(ticket)).kind).to.equal('ticket_used');

    await lab.cache.barrier();
    expect(events().map(({ type, severity }) => `${type} ${severity}`)).to.deep.equal([
      'secret.delivery_repeated warning',
    ]);
  });

  it('works once per ticket, however many others were used meanwhile', async () => {
    await lab.assign(secretReplica());
    const first = await takeTicket();
    expect((await ask(first)).kind).to.equal('ready');
    for (let other = 0; other < 12; other++) expect((await ask(await takeTicket())).kind).to.equal('ready');
    expect((await ask(first)).kind).to.equal('ticket_used');
  });

  it('is remembered as long as its ticket is valid, and no longer', async () => {
    await lab.assign(secretReplica());
    const uses = async () => {
      await lab.cache.barrier();
      return value<Delivery>(lab.cache.get(keys.delivery(LAB_TENANT, 'web', 'rep_1'))!).uses.length;
    };
    for (let round = 0; round < 3; round++) await ask(await takeTicket());
    expect(await uses()).to.equal(3);
    await lab.clock.pass(2 * TICKET_MS);
    await ask(await takeTicket());
    expect(await uses()).to.equal(1);
  });

  it('is refused to a node that requests it too often', async () => {
    await lab.assign(secretReplica());
    const kinds: string[] = [];
    for (let round = 0; round < 66; round++) kinds.push((await ask(await takeTicket())).kind);
    expect(kinds.filter(kind => kind === 'ready')).to.have.length(64);
    expect(kinds.at(-1)).to.equal('ticket_invalid');
    await lab.clock.pass(2 * TICKET_MS);
    expect((await ask(await takeTicket())).kind).to.equal('ready');
  });

  it('works again with a fresh ticket while no container is reported', async () => {
    await lab.assign(secretReplica());
    expect((await ask(await takeTicket())).kind).to.equal('ready');
    const second = await takeTicket();
    expect(second).not.to.equal('');
    expect((await ask(second)).kind).to.equal('ready');

    const report = { replica: 'rep_1', deployment: 'web', slot: 0, nodeId: LAB_NODE.id, templateHash: 'hash' } as const;
    const running = {
      ...report,
      state: 'running',
      health: 'none',
      restarts: 0,
      at: '2030-01-01T00:00:00.000Z',
    } as const;
    await lab.dispatcher.report(LAB_NODE, { reports: [{ ...running, containerId: 'c1' }] });
    await lab.cache.barrier();
    expect(await takeTicket()).to.equal('');
  });

  it('holds back a replica with unresolved secrets, unless it retires', async () => {
    const { resolved: _, ...unresolved } = secretReplica();
    await lab.assign(unresolved);
    expect((await lines()).map(withoutStore)).to.deep.equal([
      { type: 'snapshot', replicas: [], networks: [], volumes: [] },
    ]);

    await lab.assign({ ...unresolved, retiringSince: 'now' });
    const [snapshot] = await lines();
    expect(snapshot).to.deep.include({ type: 'snapshot' }).and.not.to.have.property('tickets');
    expect(snapshot?.type === 'snapshot' && snapshot.replicas).to.have.length(1);
  });

  it('comes with a ticket on an open stream as soon as secrets are resolved', async () => {
    const { resolved: _, ...unresolved } = secretReplica();
    await lab.assign(unresolved);
    const heard: AssignmentLine[] = [];
    const close = lab.dispatcher.assignments(LAB_NODE, line => heard.push(line));
    await lab.clock.pass(0);
    await lab.assign(secretReplica());
    await lab.clock.pass(0);
    close();
    const [, set] = heard;
    expect(set?.type === 'set' && (await shown(set.ticket ?? ''))).to.have.property('DB_password', 'first');
  });

  describe('is refused', () => {
    const stranger = { ...LAB_NODE, id: 'node_2', name: 'n2' };
    const foreigner = { ...LAB_NODE, tenant: '00000000-8b86-4d01-b42d-00cf4fc964ff' };
    const cases: ReadonlyArray<{ name: string; kind: string; ask: (ticket: string) => ReturnType<typeof ask> }> = [
      { name: 'to another node', kind: 'not_own', ask: ticket => ask(ticket, {}, stranger as typeof LAB_NODE) },
      {
        name: 'to a node of another tenant',
        kind: 'not_own',
        ask: ticket => ask(ticket, {}, foreigner as typeof LAB_NODE),
      },
      { name: 'of an older generation', kind: 'not_own', ask: ticket => ask(ticket, { generation: 0 }) },
      { name: 'of a replica that is not there', kind: 'not_own', ask: ticket => ask(ticket, { replica: 'rep_9' }) },
      { name: 'with no ticket', kind: 'ticket_invalid', ask: () => ask('') },
      { name: 'with a forged ticket', kind: 'ticket_invalid', ask: ticket => ask(ticket.replace(/.$/, 'x')) },
      {
        name: 'with a ticket made to last',
        kind: 'ticket_invalid',
        ask: ticket => ask(ticket.replace(/\.[^.]+\./, '.zzzzzzzzz.')),
      },
    ];
    for (const { name, kind, ask: asked } of cases) {
      it(name, async () => {
        await lab.assign(secretReplica());
        expect((await asked(await takeTicket())).kind).to.equal(kind);
      });
    }

    it('with the ticket of another replica', async () => {
      await lab.assign(secretReplica());
      await lab.assign(secretReplica({ uid: 'rep_2', slot: 1 }));
      expect((await ask(await takeTicket('rep_2'))).kind).to.equal('ticket_invalid');
    });

    it('after a minute', async () => {
      await lab.assign(secretReplica());
      const ticket = await takeTicket();
      await lab.clock.pass(60_000);
      expect((await ask(ticket)).kind).to.equal('ticket_invalid');
    });

    it('once the replica retires', async () => {
      await lab.assign(secretReplica());
      const ticket = await takeTicket();
      await lab.assign(secretReplica({ retiringSince: 'now' }));
      expect((await ask(ticket)).kind).to.equal('not_own');
    });

    it('as a whole when a stamped version was destroyed', async () => {
      await lab.assign(secretReplica({ resolved: { versions: { 'deployments/web-db': 7 }, at: '' } }));
      expect(await ask(await takeTicket())).to.deep.include({ kind: 'unresolved', reason: 'secret_missing' });
      expect(lab.cache.get(keys.delivery(LAB_TENANT, 'web', 'rep_1'))).to.equal(undefined);
    });
  });

  describe('is refused with the code', () => {
    const words = { reason: 'secret_missing', message: '' } as const;
    const cases = [
      [{ kind: 'not_own' }, 403, 'environment_not_own'],
      [{ kind: 'ticket_invalid' }, 409, 'delivery_ticket_invalid'],
      [{ kind: 'ticket_used' }, 409, 'delivery_ticket_used'],
      [{ kind: 'unresolved', ...words }, 409, 'secrets_unresolved'],
      [{ kind: 'unresolved', ...words, reason: 'secret_store_unavailable' }, 503, 'secret_store_unavailable'],
    ] as const;
    for (const [answer, status, code] of cases) {
      it(code, () => {
        expect(toEnvironmentRejection(answer)).to.deep.equal({ status, code });
        expect(getEntry(code).status).to.equal(status);
      });
    }
  });
});
