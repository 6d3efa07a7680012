import { keys } from '../../../crds/keys/index.js';
import type { StoredNode } from '../../../crds/node/index.js';
import type { StoredVolume, VolumeStatus } from '../../../crds/volume/index.js';
import { encode } from '../../../pkg/store/index.js';
import type { ApiLab } from '../../api-lab.testing.js';
import { makeVolume } from '../../../crds/volume/volume.testing.js';

export const ID = `vol_${'1'.repeat(26)}`;
export const RECORDED_AT = new Date(0).toISOString();
export const toNodeId = (digit: number): string => `node_${String(digit).repeat(26)}`;

/** Writes records of volume `ID` and its nodes as loops and agents would, for tenant a. */
export function writeRecords(find: () => ApiLab) {
  const put = async (key: string, document: object): Promise<void> => {
    const { store, cache } = find();
    const at = (await store.get(key))?.revision ?? 0;
    await store.commit({ guards: [{ key, at }], puts: [{ key, bytes: encode(document) }], deletes: [] });
    await cache.barrier();
  };
  const metadata = (uid: string) => ({
    tenant: find().a,
    uid,
    generation: 1,
    createdAt: RECORDED_AT,
    updatedAt: RECORDED_AT,
    specHash: '',
  });
  const settle = (change: Partial<VolumeStatus> = {}) =>
    put(keys.volumeStatus(find().a, ID), {
      id: ID,
      phase: 'Ready',
      reason: 'volume_ready',
      message: '',
      primaryNode: toNodeId(1),
      epoch: 1,
      copies: [],
      since: RECORDED_AT,
      ...change,
    });
  /** A node that takes copies. */
  const enrol = async (digit: number, change: Partial<StoredNode> = {}): Promise<StoredNode> => {
    const node: StoredNode = {
      metadata: metadata(toNodeId(digit)),
      id: toNodeId(digit),
      name: `machine-${digit}`,
      labels: {},
      capacity: { cpu: 1, memory: 1, disk: 2 ** 40 },
      publicKey: '',
      controlPlane: false,
      agentVersion: '0',
      volumeAddress: `10.0.0.${digit}:7071`,
      ...change,
    };
    await put(keys.node(find().a, node.name), node);
    return node;
  };
  /** The volume `data`, with one copy wanted. */
  const declare = (change: Partial<StoredVolume> = {}) => {
    const volume = makeVolume(metadata(ID), { sizeBytes: 2 ** 30, ...change });
    return put(keys.volume(find().a, ID), volume);
  };
  return { put, metadata, settle, enrol, declare };
}
