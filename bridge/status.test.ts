import { expect } from 'chai';

import type { MirroredObject } from './mirror.js';
import { composeStatus, isSameStatus } from './status.js';

const now = '2026-11-17T02:00:00Z';
const cluster: MirroredObject = { metadata: { name: 'web', uid: 'k', resourceVersion: '1', generation: 7 } };
const condition = { type: 'Available', status: 'True', reason: 'r', message: 'm', lastTransitionTime: now };
const mooring: MirroredObject = {
  metadata: { name: 'web', uid: 'm', resourceVersion: '1', generation: 3 },
  status: { phase: 'Ready', conditions: [{ ...condition, observedGeneration: 3 }] },
};
const record = { specHash: 'h', generation: 3, fields: [] };
const report = { synced: 'True', reason: 'Synced', message: '' } as const;
const lines = (status: object) =>
  (status as { conditions: readonly Record<string, unknown>[] }).conditions.map(
    each => `${String(each['type'])} ${String(each['status'])} ${String(each['observedGeneration'])}`,
  );

describe('the status of an object of the cluster', () => {
  it('is Mooring’s, in the generations of the cluster', () => {
    const status = composeStatus(cluster, { report, mooring, record }, now);
    expect(status).to.deep.include({ phase: 'Ready', observedGeneration: 7, mirror: record });
    expect(lines(status)).to.deep.equal(['Admitted True 7', 'Synced True 7', 'Available True 7']);
    const behind = { ...mooring, metadata: { ...mooring.metadata, generation: 4 } };
    expect(lines(composeStatus(cluster, { report, mooring: behind, record }, now)).at(-1)).to.equal('Available True 6');
  });

  it('keeps what was known when Mooring cannot be read, and its times while nothing changes', () => {
    const status = composeStatus(cluster, { report, mooring, record }, now);
    const again = composeStatus({ ...cluster, status }, { report, mooring, record }, '2026-11-17T03:00:00Z');
    expect(isSameStatus(again, status)).to.equal(true);
    const unknown = { synced: 'Unknown', reason: 'MooringUnreadable', message: '' } as const;
    const blind = composeStatus({ ...cluster, status }, { report: unknown }, '2026-11-17T03:00:00Z');
    expect(blind).to.deep.include({ phase: 'Ready', mirror: record });
    expect(lines(blind)).to.deep.equal(['Admitted True 7', 'Synced Unknown 7', 'Available True 7']);
  });

  it('tells a rejection by its code, and a conflict while there is one', () => {
    const rejection = { reason: 'image_required', message: 'x'.repeat(5_000) };
    const refused = composeStatus(cluster, { report: { ...report, synced: 'False' }, rejection }, now);
    const [admitted] = (refused as { conditions: readonly { reason: string; message: string }[] }).conditions;
    expect(admitted).to.include({ status: 'False', reason: 'image_required' });
    expect(admitted?.message.length).to.equal(1_000);
    const other = {
      report: { ...report, synced: 'False' as const },
      rejection: { ...rejection, message: 'another number' },
    };
    expect(isSameStatus(composeStatus({ ...cluster, status: refused }, other, now), refused)).to.equal(true);
    const conflict = composeStatus(cluster, { report: { ...report, synced: 'False', isConflict: true } }, now);
    expect(lines(conflict)).to.deep.equal(['Synced False 7', 'Conflict True 7']);
    expect(lines(composeStatus({ ...cluster, status: conflict }, { report }, now))).to.deep.equal(['Synced True 7']);
  });
});
