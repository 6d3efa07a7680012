import { isDeepStrictEqual } from 'node:util';

import { FieldPath, parseSecretPath } from '../grammar/index.js';
import { describeValue } from '../rejections/index.js';
import type { Announce } from '../rule/index.js';
import { type Generation, toGeneration, type SecretLimits, type SecretWrite } from '../secret/index.js';
import type { WorkloadFacts } from './context.js';
import type { SecretReference, SecretsInput } from './secrets.js';
import { type RawMount, type MountsInput, type VolumeMount, getVolumeId } from './volumes.js';

/** Why a key that was to be generated is not. */
export const GENERATE_KEPT = 'the material exists and is kept; a rotation mints it again';

/** References to store, and the material that came with them, for the secrets store only. */
export interface SecretsCompletion {
  readonly secrets: readonly SecretReference[];
  readonly material: readonly SecretWrite[];
}

/** Parts material from references; every difference to what was sent is announced, without a value in it. */
export function completeSecrets(
  sent: SecretsInput,
  { secretKeys }: Pick<WorkloadFacts, 'secretKeys'>,
  limits: SecretLimits,
  announce: Announce,
): SecretsCompletion {
  const material: SecretWrite[] = [];
  const secrets = sent.map((entry, position): SecretReference => {
    const at = FieldPath.root.child('secrets').index(position);
    const { name, vault_path, anchor, rotation, values, generate } = entry;
    if (rotation === undefined) announce(at.child('rotation'), null, 'restart', 'default');
    if (values) announce(at.child('values'), describeValue(values), null, 'kept in the secrets store only');

    const asked = generate && toGeneration(generate, limits);
    const generation = asked && dueGeneration(asked, secretKeys[vault_path]);
    if (asked) {
      const isKept = (generation?.keys.length ?? 0) < asked.keys.length;
      const why = isKept ? GENERATE_KEPT : 'done once, never stored';
      announce(at.child('generate'), generate, null, why);
    }
    const { namespace = '', label = '' } = parseSecretPath(vault_path) ?? {};
    if (values || generation) {
      material.push({ namespace, label, values: values ?? {}, ...(generation && { generation }) });
    }
    return { name, vault_path, anchor, rotation: 'restart' };
  });
  return { secrets, material };
}

/** What is still to be minted: keys that have no value yet. The same document again must change nothing. */
function dueGeneration(asked: Generation, existing: readonly string[] = []): Generation | undefined {
  const keys = asked.keys.filter(key => !existing.includes(key));
  return keys.length === 0 ? undefined : { ...asked, keys };
}

/** Whether mounts as they are sent are those that are stored, whatever a client has left out of them. */
export function areSameMounts(stored: readonly VolumeMount[] = [], sent: unknown = []): boolean {
  if (!Array.isArray(sent) || sent.length !== stored.length) return false;
  return stored.every((mount, position) => {
    const { volume_id: alias, ...given } = Object(sent[position]) as RawMount;
    const named = alias === undefined ? given : { volumeId: alias, ...given };
    return isDeepStrictEqual(mount, { type: mount.type, readOnly: false, ...named });
  });
}

/** Mounts with every default filled in and one name for the volume, announced. */
export function completeMounts(
  sent: MountsInput,
  announce: Announce,
  { facts }: { readonly facts: Pick<WorkloadFacts, 'volumes'> },
): readonly VolumeMount[] {
  return sent.map((mount, position) => {
    const at = FieldPath.root.child('volumes').index(position);
    const { mountPath, readOnly = false, subPath } = mount;
    const volumeId = getVolumeId(mount)!;
    const type = mount.type ?? facts.volumes.find(volume => volume.id === volumeId)?.type ?? 'volume';
    if (mount.volumeId === undefined) {
      announce(at.child('volume_id'), volumeId, null, 'written as volumeId');
      announce(at.child('volumeId'), null, volumeId, 'the name of this field');
    }
    if (mount.type === undefined) announce(at.child('type'), null, type, 'the type of the volume');
    if (mount.readOnly === undefined) announce(at.child('readOnly'), null, readOnly, 'default');
    return { volumeId, type, mountPath, readOnly, ...(subPath !== undefined && { subPath }) };
  });
}
