import { inspect } from 'node:util';

import { expect } from 'chai';

import type { Delivery } from '../../crds/delivery/index.js';
import type { StoredEvent } from '../../crds/event/index.js';
import { keys, ranges } from '../../crds/keys/index.js';
import { value } from '../store/index.js';
import type { AssignmentLine } from './agent-link.js';
import { DispatcherLab, LAB_NODE, LAB_TENANT, replica } from './dispatcher-lab.testing.js';
import { TICKET_MS } from './tickets.js';

const SECRET = 'registries/registry-test';
const LOGIN = { host: 'registry.test', username: 'robot', password: 'canary-of-a-login' };

describe('the login for a registry', () => {
  let lab: DispatcherLab;

  beforeEach(async () => {
    lab = new DispatcherLab();
    await lab.start();
    await lab.assign(replica());
  });
  afterEach(() => lab.stop());

  const lines = async (): Promise<readonly AssignmentLine[]> => {
    const heard: AssignmentLine[] = [];
    const close = lab.dispatcher.assignments(LAB_NODE, line => heard.push(line));
    await lab.clock.pass(0);
    close();
    return heard;
  };
  const takeTicket = async (): Promise<string> => {
    const [snapshot] = await lines();
    return (snapshot?.type === 'snapshot' && snapshot.pullTickets['rep_1']) || '';
  };
  const ask = async (ticket: string, node = LAB_NODE, change: { replica?: string; generation?: number } = {}) =>
    lab.dispatcher.pullCredential(node, { replica: 'rep_1', generation: 1, ticket, ...change });
  const deliveries = () => {
    const entry = lab.cache.get(keys.delivery(LAB_TENANT, 'web', 'rep_1'));
    return entry && value<Delivery>(entry).uses.map(({ versions }) => versions);
  };

  it('is delivered for the registry of the image, in its current version, and recorded by number only', async () => {
    await lab.keep('registry-test', LOGIN, 'registries');
    const first = await ask(await takeTicket());
    expect(first).to.include({ kind: 'found', username: 'robot', secret: SECRET });
    expect(first.kind === 'found' && first.password.reveal()).to.equal(LOGIN.password);
    expect(inspect(first, { depth: 9 })).not.to.contain(LOGIN.password);

    await lab.keep('registry-test', { ...LOGIN, password: 'rotated' }, 'registries');
    const second = await ask(await takeTicket());
    expect(second.kind === 'found' && second.password.reveal()).to.equal('rotated');
    await lab.cache.barrier();
    expect(deliveries()).to.deep.equal([{ [SECRET]: 1 }, { [SECRET]: 2 }]);
  });

  it('is named when the tenant has none, or one for another host', async () => {
    expect(await ask(await takeTicket())).to.deep.equal({ kind: 'none', secret: SECRET });
    await lab.keep('registry-test', { ...LOGIN, host: 'registry.other' }, 'registries');
    expect(await ask(await takeTicket())).to.deep.equal({ kind: 'none', secret: SECRET });
  });

  it('is delivered once per ticket, and a repetition is told', async () => {
    await lab.keep('registry-test', LOGIN, 'registries');
    const ticket = await takeTicket();
    const answers = await Promise.all([ask(ticket), ask(ticket)]);
    expect(answers.map(({ kind }) => kind).toSorted()).to.deep.equal(['found', 'ticket_used']);
    await lab.cache.barrier();
    const events = lab.cache.list(ranges.of(ranges.events, LAB_TENANT)).map(entry => value<StoredEvent>(entry));
    expect(events.map(({ type }) => type)).to.deep.equal(['secret.delivery_repeated']);
    expect(events[0]?.message).to.match(/^A ticket for the secrets or the registry login of a replica of web /);
  });

  it('is delivered for no ticket but its own: not late, not of secrets, not for another node, replica or generation', async () => {
    await lab.keep('registry-test', LOGIN, 'registries');
    await lab.assign(replica({ uid: 'rep_2', slot: 1, nodeId: 'node_2' }));
    const ticket = await takeTicket();
    let reads = 0;
    const read = lab.secrets.read.bind(lab.secrets);
    lab.secrets.read = (...request) => (reads++, read(...request));
    const kinds = [
      await ask(lab.tickets.issue(LAB_NODE, replica())),
      await ask(ticket, { ...LAB_NODE, id: 'node_2' } as unknown as typeof LAB_NODE),
      await ask(ticket, { ...LAB_NODE, tenant: '00000000-0000-4000-8000-000000000000' } as unknown as typeof LAB_NODE),
      await ask(ticket, LAB_NODE, { replica: 'rep_2' }),
      await ask(ticket, LAB_NODE, { generation: 2 }),
    ].map(({ kind }) => kind);
    expect(kinds).to.deep.equal(['ticket_invalid', 'not_own', 'not_own', 'not_own', 'not_own']);
    expect(reads, 'the store was read for a ticket that is not valid').to.equal(0);
    await lab.clock.pass(TICKET_MS);
    expect((await ask(ticket)).kind).to.equal('ticket_invalid');
    const environment = await lab.dispatcher.environment(LAB_NODE, { replica: 'rep_1', generation: 1, ticket });
    expect(environment.kind).to.equal('not_own');
    expect(deliveries()).to.equal(undefined);
  });

  it('has no ticket for a replica that retires or has a container', async () => {
    await lab.assign(replica({ retiringSince: 'now' }));
    expect(await takeTicket()).to.equal('');
  });
});
