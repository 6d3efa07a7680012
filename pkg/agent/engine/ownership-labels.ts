import type { Ownership } from './engine.js';

/** On every container of ours: the node whose agent created it. */
export const NODE_LABEL = 'mooring.io/node';

export const REPLICA_LABEL = 'mooring.io/replica';

/** On every container and network of ours: the tenant. */
export const TENANT_LABEL = 'mooring.io/tenant';

const SECRET_VERSIONS = 'mooring.io/secret-versions';

/** Writes ownership as labels; what cannot be one everywhere is in `toNotes`. A container has more of ours: the names of its secret variables, and its networks. */
export function toLabels(owner: Ownership): Record<string, string> {
  return {
    [NODE_LABEL]: owner.nodeId,
    [TENANT_LABEL]: owner.tenant,
    'mooring.io/deployment': owner.deployment,
    'mooring.io/deployment-uid': owner.deploymentUid,
    [REPLICA_LABEL]: owner.replica,
    'mooring.io/slot': String(owner.slot),
    'mooring.io/generation': String(owner.generation),
    'mooring.io/template-hash': owner.templateHash,
    ...(owner.restoreEpoch !== undefined && { 'mooring.io/restore-epoch': String(owner.restoreEpoch) }),
    ...(owner.writes && { 'mooring.io/writes': owner.writes.join(',') }),
  };
}

/** The rest of ownership: an engine whose labels take no path keeps it elsewhere. Numbers, never values. */
export function toNotes({ secretVersions }: Pick<Ownership, 'secretVersions'>): Record<string, string> {
  if (!secretVersions) return {};
  const notes = Object.entries(secretVersions).map(([path, version]) => `${path}@${version}`);
  return { [SECRET_VERSIONS]: notes.join(',') };
}

/** Reads ownership from labels. Undefined when one is missing: then the container is not ours. */
export function readOwner(
  labels: Readonly<Record<string, string>> | null | undefined,
  notes: Readonly<Record<string, string>> | null | undefined = labels,
): Ownership | undefined {
  const read = (name: string) => labels?.[`mooring.io/${name}`] ?? '';
  const secretVersions = readVersions(notes?.[SECRET_VERSIONS]);
  const owner: Ownership = {
    nodeId: read('node'),
    tenant: read('tenant'),
    deployment: read('deployment'),
    deploymentUid: read('deployment-uid'),
    replica: read('replica'),
    slot: Number.parseInt(read('slot'), 10),
    generation: Number.parseInt(read('generation'), 10),
    templateHash: read('template-hash'),
    ...(/^\d{1,15}$/.test(read('restore-epoch')) && { restoreEpoch: Number(read('restore-epoch')) }),
    ...(read('writes') !== '' && { writes: read('writes').split(',') }),
    ...(secretVersions && { secretVersions }),
  };
  const complete = owner.nodeId && owner.tenant && owner.deployment && owner.deploymentUid && owner.replica;
  return complete && owner.slot >= 0 && owner.generation >= 0 ? owner : undefined;
}

function readVersions(note: string | undefined): Ownership['secretVersions'] {
  if (!note) return undefined;
  return Object.fromEntries(note.split(',').map(each => [each.split('@')[0], Number(each.split('@')[1])]));
}
