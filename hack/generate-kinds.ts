import { formatBytes, formatCores } from '../crds/grammar/index.js';
import { getOperationRoute, type Kind, type Quota } from '../crds/kind/index.js';
import { kinds, listKindNames } from '../crds/kinds/index.js';

/** `docs/KINDS.md`: what the descriptors say of every kind. */
export function renderKindsReference(known: readonly Kind[] = kinds): string {
  return ['# Kinds', '', INTRODUCTION, '', ...known.flatMap(renderKind)].join('\n');
}

const INTRODUCTION = [
  'Generated from the descriptors in `crds/<kind>/` by `make generate`. Schemas are at `/openapi.json` of the API server and in',
  '`crds/manifests`. Columns in brackets are shown with `-o wide`.',
].join('\n');

function renderKind(kind: Kind): readonly string[] {
  const { description, scope, range, statusRange, keyParts = [], events, columns, quotas = {} } = kind;
  const { operations, isFinalized, uses = [] } = kind;
  const segments = keyParts.map(part => `<${part}>`).join('/');
  const titles = columns.map(({ title, isWide }) => (isWide ? `[${title}]` : title));
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['Names', listKindNames(kind).map(quote)],
    ['Scope', [scope]],
    ['Stored at', [range, statusRange].flatMap(each => (each === undefined ? [] : [quote(each + segments)]))],
    ['Operations', listOperations(kind)],
    ['Deleted', operations.includes('delete') ? [isFinalized ? 'once what it stands for is gone' : 'at once'] : []],
    ['Uses', uses.map(quote)],
    ['Columns', titles],
    ['Quotas', Object.entries(quotas).map(renderQuota)],
    ['Events', events.map(quote)],
  ];
  const shown = rows
    .filter(([, values]) => values.length > 0)
    .map(([title, values]) => `| ${title} | ${values.join(', ')} |`);
  return [`## ${kind.kind}`, '', description, '', '| | |', '|---|---|', ...shown, '', ...renderFields(kind)];
}

function renderFields({ fields = {} }: Kind): readonly string[] {
  const rows = Object.entries(fields).map(([name, { required, default: value, isComputed, partOf }]) => {
    const absent = required
      ? 'required'
      : value !== undefined
        ? quote(JSON.stringify(value))
        : isComputed
          ? 'set by the platform'
          : '';
    const note = partOf ? 'replaces the containers' : '';
    return `| ${quote(name)} | ${absent} | ${note} |`;
  });
  return rows.length > 0 ? ['| Field | When it is not sent | A change of it |', '|---|---|---|', ...rows, ''] : [];
}

function listOperations(kind: Kind): readonly string[] {
  return kind.operations.map(operation => {
    const { method, path } = getOperationRoute(kind, operation);
    return `${operation} ${quote(`${method} ${path}${operation === 'watch' ? '?watch=true' : ''}`)}`;
  });
}

function renderQuota([name, { default: limit, unit }]: readonly [string, Quota]): string {
  const amount = limit === undefined ? 'no limit' : FORMATS[unit](limit);
  return `${quote(name)} (${amount} by default)`;
}

const FORMATS: Readonly<Record<Quota['unit'], (amount: number) => string>> = {
  count: String,
  cores: formatCores,
  bytes: formatBytes,
};

function quote(text: string): string {
  return `\`${text}\``;
}
