import type { Column } from '../../crds/kind/index.js';
import { formatAge } from '../../crds/grammar/index.js';
import { type KubernetesObject, toPartial } from './objects.js';

/** An object, and what its table cells are made from. */
export interface RenderedObject {
  readonly object: KubernetesObject;
  readonly view: unknown;
}

/** What the rows of a table carry beside their cells. */
export type IncludedObject = 'None' | 'Metadata' | 'Object';

/** A table of objects, which kubectl prints as it is. */
export interface TableOptions {
  readonly columns: readonly Column<never>[];
  readonly include: IncludedObject;
  readonly now: number;
}

/** The columns as Kubernetes describes them. */
export function defineTableColumns(columns: readonly Column<never>[]): readonly object[] {
  return columns.map(({ title, isWide }, position) => ({
    name: title,
    type: 'string',
    format: position === 0 ? 'name' : '',
    description: '',
    priority: isWide ? 1 : 0,
  }));
}

/** A table. `columnDefinitions` are left out of the tables of a watch that follow the first one. */
export function buildTable(
  rendered: readonly RenderedObject[],
  metadata: Readonly<Record<string, unknown>>,
  { columns, include, now }: TableOptions,
  isFirst = true,
): object {
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: isFirst ? defineTableColumns(columns) : [],
    rows: rendered.map(({ object, view }) => ({
      cells: columns.map(column => formatCell(column, view, now)),
      ...(include !== 'None' && { object: include === 'Object' ? object : toPartial(object) }),
    })),
  };
}

function formatCell({ value, format }: Column<never>, view: unknown, now: number): string {
  const text = value(view as never);
  return format === 'age' ? formatAge(text, now) : text;
}
