import { keys } from '../../crds/keys/index.js';
import { isTypedId } from '../../crds/grammar/index.js';
import { toVolumeSubject } from '../../crds/volume/index.js';
import { listDependencies, listNetworkNames, listSecretPaths, readList, type SubmittedDocument } from './submitted.js';

/**
 * The keys that serialise a write with others whose validation reads the same objects: of two writes that were judged
 * by the same state only one is stored, and the other is judged again. Most documents need none.
 */
export function listConflictKeys(tenant: string, submitted: SubmittedDocument): readonly string[] {
  const { sends, fields } = submitted;
  const subjects = new Set<string>();
  const removesCheck = sends('healthCheck') && fields['healthCheck'] === null;
  if (removesCheck || (sends('dependsOn') && listDependencies(submitted).length > 0)) subjects.add('dependencies');
  if (sends('secrets')) for (const { label } of listSecretPaths(submitted)) subjects.add(toSecretSubject(label));
  if (sends('networks')) for (const name of listNetworkNames(submitted)) subjects.add(toNetworkSubject(name));
  if (sends('volumes') || sends('replicas') || sends('nodeId')) {
    for (const { volumeId, volume_id: alias } of readList(submitted, 'volumes')) {
      const id = volumeId ?? alias;
      if (typeof id === 'string' && isTypedId('vol', id)) subjects.add(toVolumeSubject(id));
    }
  }
  return [...subjects].map(subject => keys.conflict(tenant, subject));
}

/** The subject of the conflict key of a credential. */
export function toSecretSubject(label: string): string {
  return `secret.${label}`;
}

/** The subject of the conflict key of a network: none is deleted while a workload that joins it is written. */
export function toNetworkSubject(name: string): string {
  return `network.${name}`;
}
