import { parseAnchor } from '../grammar/index.js';
import { type FieldRules, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';
import type { SecretReference } from './secrets.js';
import { type LooseMount, listVolumeIds, getVolumeId } from './volumes.js';

type Loose = { readonly [Part in keyof SecretReference]?: unknown };

/** The volume that an entry is anchored to. */
function anchorVolume({ anchor }: Loose): string | undefined {
  const parsed = typeof anchor === 'string' ? parseAnchor(anchor) : undefined;
  return parsed?.to === 'volume' ? parsed.volumeId : undefined;
}

function mountsOf(document: Readonly<Record<string, unknown>> | undefined): readonly LooseMount[] {
  const volumes = document?.['volumes'];
  return Array.isArray(volumes) ? (volumes as LooseMount[]) : [];
}

const volumeIsDeclared = rule(
  'secret_anchor_volume_not_declared',
  (entries: readonly Loose[], at, { document, isWhole }: Context, refuse) => {
    if (!isWhole('volumes')) return undefined;
    const declared = listVolumeIds(mountsOf(document));
    return entries.flatMap((entry, position) => {
      const id = anchorVolume(entry);
      return id === undefined || declared.includes(id)
        ? []
        : refuse(at.index(position).child('anchor'), entry.anchor, { declared });
    });
  },
);

const volumeLasts = rule(
  'secret_anchor_volume_ephemeral',
  (entries: readonly Loose[], at, { document, facts }: Context, refuse) =>
    entries.flatMap((entry, position) => {
      const id = anchorVolume(entry);
      const mount = mountsOf(document).find(each => getVolumeId(each) === id);
      if (id === undefined || !mount) return [];
      const type = mount.type ?? facts.volumes.find(volume => volume.id === id)?.type;
      return type === 'tmpfs' ? refuse(at.index(position).child('anchor'), entry.anchor) : [];
    }),
);

/** Entries of the stored workload whose volume stays mounted. */
function boundEntries({ stored, document, isWhole }: Context): readonly SecretReference[] {
  const entries = stored?.['secrets'];
  if (!Array.isArray(entries) || !isWhole('volumes')) return [];
  const before = listVolumeIds(mountsOf(stored));
  const after = listVolumeIds(mountsOf(document));
  return (entries as SecretReference[]).filter(entry => {
    const id = anchorVolume(entry);
    return id !== undefined && before.includes(id) && after.includes(id);
  });
}

const anchoredStay = rule('anchored_secret_dropped', (sent: unknown, at, context: Context, refuse) => {
  const entries = Array.isArray(sent) ? (sent as Loose[]) : [];
  const dropped = boundEntries(context).filter(bound => !entries.some(entry => keeps(entry, bound)));
  return dropped.length === 0 ? undefined : refuse(at, names(entries), { secrets: dropped.map(d => d.vault_path) });
});

/** The same credential by name or path, under the same anchor; an anchor that cannot be read is refused elsewhere. */
function keeps(entry: Loose, bound: SecretReference): boolean {
  const isSame = entry.name === bound.name || entry.vault_path === bound.vault_path;
  const isReadable = typeof entry.anchor === 'string' && parseAnchor(entry.anchor) !== undefined;
  return isSame && (!isReadable || entry.anchor === bound.anchor);
}

/** What was sent, without anything that could be material. */
function names(entries: readonly Loose[]): readonly unknown[] {
  return entries.map(({ name, vault_path }) => ({ name, vault_path }));
}

const anchoredKeepTheirPath = rule(
  'anchored_secret_repointed',
  (entries: readonly Loose[], at, context: Context, refuse) =>
    boundEntries(context).flatMap(bound => {
      if (entries.some(entry => entry.vault_path === bound.vault_path)) return [];
      const position = entries.findIndex(entry => entry.name === bound.name);
      if (position < 0) return [];
      const place = at.index(position).child('vault_path');
      return refuse(place, entries[position]?.vault_path, { path: bound.vault_path });
    }),
);

/** What ties secrets to volumes. Asked when either changes. */
export const anchorRules: FieldRules<Context> = {
  field: 'secrets',
  with: ['volumes'],
  absent: anchoredStay,
  present: [anchoredStay, anchoredKeepTheirPath, volumeIsDeclared, volumeLasts],
};
