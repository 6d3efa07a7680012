import { expect } from 'chai';

import type { StoredEvent } from '../../crds/event/index.js';
import { keys } from '../../crds/keys/index.js';
import { create } from '../../pkg/store/index.js';
import { ApiLab } from '../api-lab.testing.js';
import { listPodEvents } from './events.js';
import { FaceClient, type TestObject } from './face-lab.testing.js';

const AT = '2026-01-31T12:00:00.000Z';

function makeEvent(more: Partial<StoredEvent> = {}): StoredEvent {
  return {
    id: 'evt_1',
    type: 'deployment.placed',
    at: AT,
    lastSeenAt: AT,
    count: 1,
    tenant: 't1',
    subject: { kind: 'Deployment', name: 'web', id: 'dep_1' },
    severity: 'info',
    reason: 'placed',
    message: 'replica 0 on one, replica 1 on two',
    data: {},
    ...more,
  };
}

describe('events about pods', () => {
  const placements = [
    { replica: 0, generation: 3, node: 'one', nodeId: 'node_1' },
    { replica: 1, generation: 3, node: 'two', nodeId: 'node_2' },
  ];
  const cases: readonly (readonly [string, Partial<StoredEvent>, readonly string[]])[] = [
    [
      'are made of the placements of an event',
      { data: { placements } },
      ['evt_1.0 web-0 dep_1-0-3 replica 0 on one', 'evt_1.1 web-1 dep_1-1-3 replica 1 on two'],
    ],
    [
      'are made of the replicas that an event names',
      { message: 'it fails', data: { replicas: [{ replica: 2, generation: 1 }] } },
      ['evt_1.2 web-2 dep_1-2-1 it fails'],
    ],
    ['are none of an event that names no replica', { data: { replicas: 2 } }, []],
    ['are none of replicas without a generation', { data: { replicas: [{ replica: 2 }] } }, []],
    [
      'are none of the attempts of a job',
      { subject: { kind: 'Job', name: 'work', id: 'job_1' }, data: { placements } },
      [],
    ],
  ];
  for (const [title, more, expected] of cases) {
    it(title, () => {
      const found = listPodEvents(makeEvent(more));
      expect(found.map(({ id, subject, message }) => `${id} ${subject.name} ${subject.id} ${message}`)).to.deep.equal(
        expected,
      );
    });
  }

  describe('of the face', () => {
    let lab: ApiLab;
    let client: FaceClient;
    beforeEach(async () => {
      lab = await new ApiLab().start();
      client = new FaceClient(lab, await lab.tenantToken(lab.a), lab.a);
    });
    afterEach(() => lab.stop());

    const pathOf = (name: string, uid: string) =>
      client.core(`events?fieldSelector=involvedObject.name%3D${name},involvedObject.uid%3D${uid}`);

    it('are found by name and uid of the pod, as kubectl describe asks for them, and are watched', async () => {
      await create(lab.store, keys.event(lab.a, 'evt_1'), makeEvent({ tenant: lab.a, data: { placements } }));
      const { body } = await client.ask('GET', pathOf('web-1', 'dep_1-1-3'));
      const [event, ...more] = body['items'] as readonly TestObject[];
      expect(more).to.deep.equal([]);
      expect(event!['involvedObject']).to.deep.include({ kind: 'Pod', apiVersion: 'v1', name: 'web-1' });
      expect((await client.ask('GET', client.core(`events/${event!.metadata.name}`))).body).to.deep.equal(event);
      const missing = await client.ask('GET', client.core('events/evt_1.7'));
      expect([missing.status, missing.body['reason']]).to.deep.equal([404, 'NotFound']);
      const earlier = await client.ask('GET', pathOf('web-1', 'dep_1-1-2'));
      expect(earlier.body['items']).to.deep.equal([]);

      const path = `${pathOf('api-0', 'dep_2-0-1')}&watch=true`;
      const placed = [{ replica: 0, generation: 1, node: 'one', nodeId: 'node_1' }];
      const subject = { kind: 'Deployment', name: 'api', id: 'dep_2' };
      const next = makeEvent({ id: 'evt_2', tenant: lab.a, subject, data: { placements: placed } });
      const act = () => create(lab.store, keys.event(lab.a, 'evt_2'), next);
      const [told] = await client.watch(path, 1, undefined, act);
      expect([told!.type, told!.object.metadata.name]).to.deep.equal(['ADDED', 'evt_2.0']);
    });
  });
});
