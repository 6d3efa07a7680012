import { type Column, type Kind, toTitle } from '../../../crds/kind/index.js';
import type { Condition, Metadata } from '../../../crds/meta/index.js';
import type { CellContext } from '../kinds.js';
import { type Fact, formatConditions, formatEvents, formatFacts, formatSection } from '../print/sections.js';
import { choosePaint } from '../print/text.js';
import { formatAge } from '../../../crds/grammar/index.js';
import type { DescribeEnv } from './describe-env.js';
import { type ShownSchema, listShownFields } from './shown-fields.js';

/** An object of a kind of which no more is known than its descriptor says. */
export interface AnyView {
  readonly metadata?: Partial<Metadata>;
  readonly status?: { readonly conditions?: readonly Condition[] } | string | null;
}

/** An object by the descriptor of its kind: its columns, metadata, spec, status, conditions and events. */
export function describeAny(kind: Kind, view: AnyView, { events, look }: Pick<DescribeEnv, 'events' | 'look'>): string {
  const facts = [...listColumnFacts(kind, view, look), ...listMetadataFacts(view.metadata ?? {}, look)];
  const distinct = facts.filter(([title], at) => facts.findIndex(([other]) => other === title) === at);
  const [statusSchema] = Object.values(kind.status ?? {});
  const { conditions = [], ...status } = typeof view.status === 'object' ? (view.status ?? {}) : {};
  return [
    formatFacts(distinct, look),
    formatFields(kind.answer ? 'Fields' : 'Spec', kind.answer ?? kind.body, view, kind, look),
    formatFields('Status', statusSchema, status, kind, look),
    formatConditions(conditions, look),
    formatEvents(events, look),
  ].join('');
}

function listColumnFacts(kind: Kind, view: AnyView, { ink, now }: CellContext): readonly Fact[] {
  return (kind.columns as readonly Column<AnyView>[]).map(column => {
    const text = column.value(view);
    const title = toTitle(column.title);
    if (column.format === 'age') return [title, formatTime(text, now)];
    if (column.format === 'state') return [title, text, choosePaint(ink, text)];
    return column.isWarning?.(view) ? [title, text, ink.red] : [title, text];
  });
}

function listMetadataFacts(
  { uid, generation, createdAt, updatedAt, deletedAt }: Partial<Metadata>,
  { now }: CellContext,
): readonly Fact[] {
  return [
    ['Uid', uid],
    ['Generation', generation === undefined ? undefined : String(generation)],
    ['Created', createdAt && formatTime(createdAt, now)],
    ['Updated', updatedAt && updatedAt !== createdAt ? formatTime(updatedAt, now) : undefined],
    ['Deletion asked for', deletedAt && formatTime(deletedAt, now)],
  ];
}

/** The fields that a schema names, without those that a column of the same name shows. */
function formatFields(
  title: string,
  schema: object | undefined,
  value: object,
  { columns }: Kind,
  { ink }: CellContext,
): string {
  const shown = new Set(columns.map(each => each.title.toLowerCase()));
  const { metadata: _, status: _status, ...fields } = value as AnyView;
  const rows = listShownFields((schema ?? {}) as ShownSchema, fields).filter(
    ([path]) => !shown.has(path.toLowerCase()),
  );
  return formatSection(title, ['FIELD', 'VALUE'], rows, ink.bold);
}

function formatTime(at: string, now: number): string {
  return at === '' ? '' : `${at} (${formatAge(at, now)} ago)`;
}
