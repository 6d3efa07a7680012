import { expect } from 'chai';
import fc from 'fast-check';

import { ranges } from '../keys/index.js';
import { repairRecord } from './index.js';
import { records } from './records.js';

const AT = '2030-01-01T00:00:00.000Z';
const metadata = { uid: 'node_1', tenant: 't1', generation: 1, createdAt: AT, updatedAt: AT, specHash: 'h' };
const node = {
  metadata,
  id: 'node_1',
  name: 'one',
  labels: { zone: 'a' },
  capacity: { cpu: 1, memory: 1, disk: 1 },
  publicKey: 'k',
  controlPlane: false,
  agentVersion: '1',
  later: 'release',
};

describe('a stored document', () => {
  it('that is as expected is given as it is, with what this release does not know', () => {
    const repaired = repairRecord('nodes/t1/one', node);
    expect(repaired).to.deep.equal({ document: node });
    expect(repaired.document).to.equal(node);
  });

  const cases: readonly [title: string, document: unknown, kept: object, fault: string][] = [
    ['bytes that are not JSON', undefined, { id: 'unusable-one', name: 'one', labels: {} }, 'it is not JSON'],
    ['null', null, { id: 'unusable-one', name: 'one' }, 'the document is not an object'],
    ['a member of another type', { ...node, labels: 5 }, { id: 'node_1', labels: {} }, 'labels is not a map'],
    ['the name of another object', { ...node, name: 'two' }, { name: 'one' }, 'name is not what the key says'],
    [
      'orders that cannot be read: it takes no work',
      { ...node, orders: 'drain' },
      { orders: { drain: { by: 'unusable', since: '1970-01-01T00:00:00.000Z' } } },
      'orders is not an object',
    ],
  ];
  for (const [title, document, kept, fault] of cases) {
    it(`keeps of a broken record what can be used: ${title}`, () => {
      const repaired = repairRecord('nodes/t1/one', document);
      expect(repaired.document).to.deep.include(kept);
      expect(repaired.fault).to.include(fault);
    });
  }

  const job = { metadata, kind: 'Job', name: 'one', image: 'i', backoffLimit: 3, timeoutSeconds: 9, command: ['up'] };
  const attempt = { attempt: 0, uid: 'a0', state: 'Failed', exitCode: 3, finishedAt: AT, storedAt: AT };
  const status = {
    uid: 'j',
    phase: 'Failed',
    message: '',
    attempts: 1,
    history: [attempt],
    finishedAt: AT,
    retryAt: AT,
  };
  const wrong: readonly [key: string, sound: object, change: object][] = [
    ['jobs/t1/one', job, { backoffLimit: undefined }],
    ['jobs/t1/one', job, { backoffLimit: 1e300 }],
    ['jobs/t1/one', job, { timeoutSeconds: '9' }],
    ['jobs/t1/one', job, { ttlSecondsAfterFinished: -1 }],
    ['job-status/t1/one', status, { finishedAt: 'soon' }],
    ['job-status/t1/one', status, { retryAt: 7 }],
    ['job-status/t1/one', status, { exitCode: 'three' }],
    ['job-status/t1/one', status, { history: [{ ...attempt, storedAt: 'soon' }] }],
  ];
  for (const [key, sound, change] of wrong) {
    it(`of a job is not worked with when it is wrong: ${key} ${JSON.stringify(change)}`, () => {
      const own = key.startsWith('jobs/') ? { metadata: { ...metadata, tenant: 't1' } } : {};
      expect(repairRecord(key, { ...sound, ...own }).fault).to.equal(undefined);
      expect(repairRecord(key, { ...sound, ...own, ...change }).fault).to.be.a('string');
    });
  }

  it('of a token is used whole or not at all: a part of it might allow more', () => {
    const token = { id: 'k1', kind: 'admin', digest: 'd', description: '', createdAt: AT, createdBy: 'me' };
    const { document, fault } = repairRecord('tokens/k1', { ...token, expiresAt: 5 });
    expect(document).to.include({ kind: 'tenant', digest: '', expiresAt: '1970-01-01T00:00:00.000Z' });
    expect(fault).to.include('expiresAt');
  });

  it('of a replica that cannot be used is on its way out', () => {
    const { document } = repairRecord('replicas/t1/web/3', { uid: 'r1', nodeId: 'node_1' });
    expect(document).to.include({ uid: 'r1', nodeId: 'node_1', tenant: 't1', deployment: 'web', slot: 3 });
    expect(document).to.have.property('retiringSince');
  });

  it('of a replica at a key without a slot is not worked with', () => {
    const { document } = repairRecord('replicas/t1/web/0', { uid: 'r1' });
    expect(repairRecord('replicas/t1/web/0', document).fault).to.equal(undefined);
    for (const key of [
      'replicas/t1/web',
      'replicas/t1/web/',
      'replicas/t1/web/00',
      'replicas/t1/web/0x0',
      'replicas/t1/web/-0',
    ])
      expect(repairRecord(key, document).fault, key).to.equal('slot is not what the key says');
  });

  it('never quotes a value in what is wrong with it', () => {
    const { fault } = repairRecord('deployments/t1/web', { image: { password: 'hunter2' }, name: 'hunter2' });
    expect(fault).to.be.a('string').and.not.include('hunter2');
  });

  it('property: what was repaired needs no repairing', () => {
    const range = fc.constantFrom(...records.map(([each]) => each));
    fc.assert(
      fc.property(range, fc.jsonValue({ maxDepth: 3 }), (prefix, document) => {
        const key = prefix.endsWith('/') ? `${prefix}t1/a/1` : prefix;
        const { document: repaired } = repairRecord(key, document);
        const again = JSON.parse(JSON.stringify(repaired)) as unknown;
        expect(repairRecord(key, again).fault).to.equal(undefined);
      }),
      { numRuns: 400 },
    );
  });

  it('property: a record is sound exactly when its repair notes no fault', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(fc.constantFrom(...records), fc.nat(), value, value, ([range, repairer], at, part, whole) => {
        const key = 'any/t1/a/1';
        const complete = Object.entries(repairRecord(`${range}t1/a/1`, {}).document as object);
        const changed = Object.fromEntries(
          complete.map((each, i) => (i === at % complete.length ? [each[0], part] : each)),
        );
        for (const document of [Object.fromEntries(complete), changed, whole]) {
          const faults: string[] = [];
          repairer.repair(document, { key, faults }, '');
          expect(repairer.isSound(document, key), faults.join()).to.equal(faults.length === 0);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('property: a time is what can be parsed as one, also where only its form is looked at', () => {
    const scaling = { uid: 'u', base: 1, replicas: 1 };
    const findFault = (at: string) => repairRecord(`${ranges.scalings}t1/web`, { ...scaling, at }).fault;
    const part = (most: number) => fc.nat(most).map(each => String(each).padStart(2, '0'));
    const written = fc
      .tuple(fc.nat(9_999), part(14), part(33), part(25), part(61), part(61), fc.nat(999))
      .map(([year, month, day, hour, minute, second, ms]) => {
        const text = `${String(year).padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}`;
        return `${text}.${String(ms).padStart(3, '0')}Z`;
      });
    fc.assert(
      fc.property(fc.oneof(written, fc.string()), at => {
        expect(findFault(at) === undefined, at).to.equal(!Number.isNaN(Date.parse(at)));
      }),
      { numRuns: 2_000 },
    );
  });
});
