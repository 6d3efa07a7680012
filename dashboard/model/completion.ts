/** What a JSON Schema says of a field, as far as it helps while one types. */
export interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
}

/** One thing that may stand at the caret. */
export interface Proposal {
  readonly name: string;
  readonly about: string;
  readonly insert: string;
}

/** What may stand at the caret, and the piece of the text that it replaces. */
export interface Completion {
  readonly from: number;
  readonly to: number;
  readonly proposals: readonly Proposal[];
}

/** A line that begins with a name: its column, whether it begins an item of a list, and whether its value follows below. */
interface NamedLine {
  readonly name: string;
  readonly column: number;
  readonly isItem: boolean;
  readonly isOpen: boolean;
}

const STEP = 2;
/** How fields are described that are refused, or are another spelling of one. */
const UNWANTED = 'never stored';

/**
 * What may stand at the caret: names of fields where the indentation says that one is, without those that stand there already, or
 * the values of a field that has only a few. Before a word has begun, only when it `isAsked` for.
 */
export function complete(text: string, caret: number, schema: FieldSchema, isAsked = false): Completion | undefined {
  const start = text.lastIndexOf('\n', caret - 1) + 1;
  const [rest = '', ...below] = text.slice(caret).split('\n');
  const typed = /^( *)((?:- +)*)(?:(\w+): +)?(\w*)$/.exec(text.slice(start, caret));
  if (!typed || rest.trim() !== '') return undefined;
  const [, spaces = '', dashes = '', field, word = ''] = typed;
  if (word === '' && !isAsked) return undefined;
  const column = spaces.length + dashes.length;
  const above = text.slice(0, start).split('\n').slice(0, -1).toReversed().flatMap(readNamedLine);
  const fields = findFields(schema, findParents(above, column));
  if (!fields) return undefined;
  const taken = [
    ...(dashes === '' ? takeSiblings(above, column, true) : []),
    ...takeSiblings(below.flatMap(readNamedLine), column, false),
  ];
  const all = field === undefined ? listFields(fields, taken, column) : listValues(fields[field]);
  const proposals = all.filter(({ name }) => name.toLowerCase().startsWith(word.toLowerCase()));
  const isTyped = proposals.length === 1 && proposals[0]!.name === word;
  return proposals.length === 0 || isTyped ? undefined : { from: caret - word.length, to: caret, proposals };
}

function readNamedLine(line: string): readonly NamedLine[] {
  const [, spaces = '', dashes = '', name, value = ''] = /^( *)((?:- +)*)([\w-]+):(.*)$/.exec(line) ?? [];
  if (name === undefined) return [];
  const isOpen = /^\s*(?:#.*)?$/.test(value);
  return [{ name, column: spaces.length + dashes.length, isItem: dashes !== '', isOpen }];
}

/** The names that a line at this column stands below, the outermost first; undefined where it stands below none. */
function findParents(above: readonly NamedLine[], column: number): readonly string[] | undefined {
  const parents: string[] = [];
  let least = column;
  for (const line of above) {
    if (line.column >= least) continue;
    if (!line.isOpen) return undefined;
    parents.unshift(line.name);
    least = line.column;
  }
  return least === 0 ? parents : undefined;
}

function findFields(
  schema: FieldSchema,
  parents: readonly string[] | undefined,
): Readonly<Record<string, FieldSchema>> | undefined {
  const found = parents?.reduce<FieldSchema | undefined>((outer, name) => {
    const inner = outer?.properties?.[name];
    return inner?.items ?? inner;
  }, schema);
  return found?.properties;
}

/** The names beside this one, in one direction: an item of a list ends where the next one begins. */
function takeSiblings(lines: readonly NamedLine[], column: number, isUpwards: boolean): readonly string[] {
  const names: string[] = [];
  for (const line of lines) {
    if (line.column < column) break;
    if (line.column > column) continue;
    if (line.isItem && !isUpwards) break;
    names.push(line.name);
    if (line.isItem) break;
  }
  return names;
}

function listFields(
  fields: Readonly<Record<string, FieldSchema>>,
  taken: readonly string[],
  column: number,
): readonly Proposal[] {
  return Object.entries(fields)
    .filter(([name, { description }]) => !taken.includes(name) && description !== UNWANTED)
    .map(([name, field]) => ({ name, about: describe(field), insert: `${name}:${openValue(field, column)}` }));
}

/** What follows a name: a space, or the beginning of what stands below it. */
function openValue({ type, properties, items }: FieldSchema, column: number): string {
  const next = `\n${' '.repeat(column + STEP)}`;
  if (items?.properties) return `${next}- `;
  return properties || type === 'object' ? next : ' ';
}

function listValues(field: FieldSchema | undefined): readonly Proposal[] {
  return listWords(field).map(name => ({ name, about: '', insert: name }));
}

function listWords(field: FieldSchema | undefined): readonly string[] {
  if (field?.type === 'boolean') return ['true', 'false'];
  const words = field?.enum ?? (field?.const === undefined ? [] : [field.const]);
  return words.map(String);
}

function describe(field: FieldSchema): string {
  const words = listWords(field);
  if (words.length > 0) return words.join(' or ');
  return field.description ?? [field.type ?? []].flat().join(' or ');
}
