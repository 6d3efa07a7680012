import { isDeepStrictEqual } from 'node:util';

import { Type } from 'typebox';

import { findPlaceholders, parseAnchor, parseTemplate } from '../grammar/index.js';
import { annotate, type FieldRules, mapSchema, rule } from '../rule/index.js';
import type { WorkloadContext as Context } from './context.js';
import { environmentNamesRule } from './environment.js';
import { listMaterial, type SecretReference, toSecretLabel } from './secrets.js';
import { getVolumeId, listVolumeIds, type RawMount } from './volumes.js';

type RotatingEntry = { readonly [Part in keyof SecretReference | 'values' | 'generate']?: unknown };

/** While a credential is rotated, its material and who refers to it are the rotation's: both would be changed under it. */
const rotatingIsLeftAlone = rule('secret_rotation_open', (sent: unknown, at, refuse, context: Context) => {
  const { facts, stored } = context;
  const entries = Array.isArray(sent) ? (sent as RotatingEntry[]) : [];
  const before = Array.isArray(stored?.['secrets']) ? (stored['secrets'] as SecretReference[]) : [];
  return facts.rotating.flatMap(label => {
    const places = entries.flatMap((entry, position) =>
      toSecretLabel(entry.vault_path) === label
        ? listMaterial(entry, facts).map(part => at.index(position).child(part))
        : [],
    );
    const isRedirected = stored && !isDeepStrictEqual(referring(entries, label), referring(before, label));
    return [...places, ...(isRedirected ? [at] : [])].map(place => refuse(place, label, { label }));
  });
});

function referring(entries: readonly RotatingEntry[], label: string) {
  return entries
    .filter(({ vault_path: path }) => toSecretLabel(path) === label)
    .map(({ name, vault_path, anchor }) => ({ name, vault_path, anchor }));
}

/** What may not change while a credential is rotated. */
export const rotatingRules: FieldRules<Context> = {
  field: 'secrets',
  absent: rotatingIsLeftAlone,
  present: [rotatingIsLeftAlone],
};

type AnchoredEntry = { readonly [Part in keyof SecretReference]?: unknown };

/** The volume that an entry is anchored to. */
function anchorVolume({ anchor }: AnchoredEntry): string | undefined {
  const parsed = typeof anchor === 'string' ? parseAnchor(anchor) : undefined;
  return parsed?.to === 'volume' ? parsed.volumeId : undefined;
}

function listMounts(document: Readonly<Record<string, unknown>> | undefined): readonly RawMount[] {
  const volumes = document?.['volumes'];
  return Array.isArray(volumes) ? (volumes as RawMount[]) : [];
}

const volumeIsDeclared = rule(
  'secret_anchor_volume_not_declared',
  (entries: readonly AnchoredEntry[], at, refuse, { document, isWhole }: Context) => {
    if (!isWhole('volumes')) return undefined;
    const declared = listVolumeIds(listMounts(document));
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
  (entries: readonly AnchoredEntry[], at, refuse, { document, facts }: Context) =>
    entries.flatMap((entry, position) => {
      const id = anchorVolume(entry);
      const mount = listMounts(document).find(each => getVolumeId(each) === id);
      if (id === undefined || !mount) return [];
      const type = mount.type ?? facts.volumes.find(volume => volume.id === id)?.type;
      return type === 'tmpfs' ? refuse(at.index(position).child('anchor'), entry.anchor) : [];
    }),
);

/** Entries of the stored workload whose volume stays mounted. */
function boundEntries({ stored, document, isWhole }: Context): readonly SecretReference[] {
  const entries = stored?.['secrets'];
  if (!Array.isArray(entries) || !isWhole('volumes')) return [];
  const before = listVolumeIds(listMounts(stored));
  const after = listVolumeIds(listMounts(document));
  return (entries as SecretReference[]).filter(entry => {
    const id = anchorVolume(entry);
    return id !== undefined && before.includes(id) && after.includes(id);
  });
}

const anchoredStay = rule('anchored_secret_dropped', (sent: unknown, at, refuse, context: Context) => {
  const entries = Array.isArray(sent) ? (sent as AnchoredEntry[]) : [];
  const dropped = boundEntries(context).filter(bound => !entries.some(entry => keeps(entry, bound)));
  return dropped.length === 0
    ? undefined
    : refuse(at, listEntryNames(entries), { secrets: dropped.map(d => d.vault_path) });
});

/** The same credential by name or path, under the same anchor; an anchor that cannot be read is refused elsewhere. */
function keeps(entry: AnchoredEntry, bound: SecretReference): boolean {
  const isSame = entry.name === bound.name || entry.vault_path === bound.vault_path;
  const isReadable = typeof entry.anchor === 'string' && parseAnchor(entry.anchor) !== undefined;
  return isSame && (!isReadable || entry.anchor === bound.anchor);
}

/** What was sent, without anything that could be material. */
function listEntryNames(entries: readonly AnchoredEntry[]): readonly unknown[] {
  return entries.map(({ name, vault_path }) => ({ name, vault_path }));
}

const anchoredKeepTheirPath = rule(
  'anchored_secret_repointed',
  (entries: readonly AnchoredEntry[], at, refuse, context: Context) =>
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

const TEMPLATES_MAX = 64;
const TEMPLATE_MAX = 8192;

type Templates = Readonly<Record<string, string>>;

export const composedSecretsSchema = mapSchema(
  Type.String({
    maxLength: TEMPLATE_MAX,
    pattern: '^[^\\u0000]*$',
    ...annotate({ 'x-redact': true, 'x-expected': `a template without NUL, of at most ${TEMPLATE_MAX} characters` }),
  }),
  {
    maxProperties: TEMPLATES_MAX,
    ...annotate({ 'x-redact': true, 'x-expected': `a map of at most ${TEMPLATES_MAX} templates` }),
  },
);

const templatesSaySomething = rule('secret_compose_template_empty', (templates: Templates, at, refuse) =>
  Object.entries(templates)
    .filter(([, template]) => template.trim() === '')
    .map(([name, template]) => refuse(at.child(name), template)),
);

const placeholdersAreWellFormed = rule('secret_compose_template_malformed', (templates: Templates, at, refuse) =>
  Object.entries(templates)
    .filter(([, template]) => parseTemplate(template) === undefined)
    .map(([name, template]) => refuse(at.child(name), template)),
);

const templatesRefer = rule('secret_compose_no_reference', (templates: Templates, at, refuse) =>
  Object.entries(templates)
    .filter(([, template]) => findPlaceholders(parseTemplate(template) ?? []).length === 0)
    .map(([name, template]) => refuse(at.child(name), template)),
);

export const composedSecretsRules: FieldRules<Context> = {
  field: 'composedSecrets',
  present: [templatesSaySomething, placeholdersAreWellFormed, templatesRefer, environmentNamesRule],
};

const resourcesAreDeclared = rule(
  'secret_compose_resource_undeclared',
  (templates: Templates, at, refuse, { document, isWhole }: Context) => {
    if (!isWhole('secrets')) return undefined;
    const entries = (document['secrets'] ?? []) as readonly { readonly vault_path?: unknown }[];
    const declared = [...new Set(entries.flatMap(entry => toSecretLabel(entry.vault_path) ?? []))];
    return Object.entries(templates)
      .filter(([, template]) =>
        findPlaceholders(parseTemplate(template) ?? []).some(({ resource }) => !declared.includes(resource)),
      )
      .map(([name, template]) => refuse(at.child(name), template, { declared }));
  },
);

/** Templates may use what the workload declares. Asked when either changes. */
export const composedReferenceRules: FieldRules<Context> = {
  field: 'composedSecrets',
  with: ['secrets'],
  present: [resourcesAreDeclared],
};
