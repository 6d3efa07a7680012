/** What a schema says of a field, as far as that decides whether and how the field is shown. */
export interface ShownSchema {
  readonly properties?: Readonly<Record<string, ShownSchema>>;
  readonly items?: ShownSchema;
  readonly additionalProperties?: ShownSchema | boolean;
  readonly anyOf?: readonly ShownSchema[];
  readonly 'x-transient'?: true;
  readonly 'x-redact'?: true | 'throughout';
  readonly 'x-quoted'?: true;
}

/**
 * A field of an object, as text. The value of a credential cannot become one: what a schema does not name has no field,
 * and what a schema marks as a credential has none of its text.
 */
export type ShownField = readonly [path: string, text: string];

const HIDDEN = '(not shown: it may hold a credential)';
const ITEMS_SHOWN = 20;

/** The fields of a value that its schema names, in the order of the value: `placement.residency.country`, `runs[0].name`. */
export function listShownFields(
  schema: ShownSchema,
  value: unknown,
  path = '',
  isRedacted = false,
): readonly ShownField[] {
  if (value === undefined || value === null || isMarked(schema, 'x-transient')) return [];
  const hides = isRedacted || isMarked(schema, 'x-redact');
  if (Array.isArray(value)) return listItems(schema, value, path, hides);
  if (typeof value !== 'object') return [[path, hides && !schema['x-quoted'] ? HIDDEN : formatScalar(value)]];
  return Object.entries(value).flatMap(([name, part]) => {
    const inner = findPart(schema, name);
    return inner ? listShownFields(inner, part, path === '' ? name : `${path}.${name}`, hides) : [];
  });
}

function listItems(
  schema: ShownSchema,
  items: readonly unknown[],
  path: string,
  isRedacted: boolean,
): readonly ShownField[] {
  const inner = findItems(schema);
  if (!inner || items.length === 0) return [];
  const fields = items
    .slice(0, ITEMS_SHOWN)
    .flatMap((item, at) => listShownFields(inner, item, `${path}[${at}]`, isRedacted));
  const rest = items.length - ITEMS_SHOWN;
  const more: readonly ShownField[] = rest > 0 ? [[path, `and ${rest} more`]] : [];
  if (items.some(item => typeof item === 'object')) return [...fields, ...more];
  const texts = [...fields, ...more].map(([, text]) => text);
  return [[path, texts.includes(HIDDEN) ? HIDDEN : texts.join(', ')]];
}

/** Whether a schema has a mark, or one of the forms that it allows has: which of them a value is of is not known here. */
function isMarked(schema: ShownSchema, mark: 'x-transient' | 'x-redact'): boolean {
  return schema[mark] !== undefined || (schema.anyOf ?? []).some(each => isMarked(each, mark));
}

function formatScalar(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The schema of a named part, of a property or of every value of a map: all that is said of it, since any of it may be marked. */
function findPart(schema: ShownSchema, name: string): ShownSchema | undefined {
  const { properties = {}, additionalProperties, anyOf = [] } = schema;
  const named = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
  return joinForms([named, ...anyOf.map(each => findPart(each, name))]);
}

function findItems({ items, anyOf = [] }: ShownSchema): ShownSchema | undefined {
  return joinForms([items, ...anyOf.map(findItems)]);
}

function joinForms(found: readonly (ShownSchema | boolean | undefined)[]): ShownSchema | undefined {
  const forms = found.filter(each => typeof each === 'object');
  return forms.length > 1 ? { anyOf: forms } : forms[0];
}
