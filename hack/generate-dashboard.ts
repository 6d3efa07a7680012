import type { Kind } from '../crds/kind/index.js';
import { kinds } from '../crds/kinds/index.js';

/**
 * `dashboard/model/generated-kinds.ts`: what descriptors say of the kinds that can be listed, as far as a browser needs it.
 * The descriptors themselves have the schemas, for which the dashboard has no room.
 */
export function renderDashboardKinds(known: readonly Kind[] = kinds): string {
  const listed = known.filter(({ columns, operations }) => columns.length > 0 && operations.includes('list'));
  const imports = listed
    .map(({ singular }) => `import { ${singular}Columns } from '../../crds/${singular}/columns.js';`)
    .toSorted();
  return [
    "import type { Kind } from '../../crds/kind/index.js';",
    ...imports,
    '',
    '/** What the dashboard knows of a kind from its descriptor. */',
    'export type PlacedKind = Pick<',
    '  Kind,',
    `  ${[...FIELDS, 'columns'].map(field => `'${field}'`).join(' | ')}`,
    '>;',
    '',
    '/** Every kind that can be listed. Generated from `crds/kinds` by `make generate`. */',
    'export const placedKinds = [',
    ...listed.flatMap(renderKind),
    '] as const satisfies readonly PlacedKind[];',
    '',
  ].join('\n');
}

const FIELDS = ['kind', 'singular', 'plural', 'scope', 'path', 'item', 'nameField', 'operations', 'deletedBy'] as const;

function renderKind(kind: Kind): readonly string[] {
  const fields = FIELDS.flatMap(field =>
    kind[field] === undefined ? [] : [`    ${field}: ${renderValue(kind[field])},`],
  );
  return ['  {', ...fields, `    columns: ${kind.singular}Columns,`, '  },'];
}

function renderValue(value: string | readonly string[]): string {
  if (typeof value === 'string') return `'${value}'`;
  return `[${value.map(each => `'${each}'`).join(', ')}]`;
}
